"""Read RESOLVECONFLICT and COMPARECOLS of a MAP into the answers to conflicts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.goldengate.prm.conditions import Untranslatable
from airflow_ddlrepl.goldengate.prm.lists import column_names, in_parentheses, split_list
from airflow_ddlrepl.model.settings.conflicts import Conflict, Resolution
from airflow_ddlrepl.notation.conflict_answers import ALLOWED, BY_VALUE

CONFLICTS = {one.value.replace("_", "").upper(): one for one in Conflict}
RESOLUTIONS = {one.value.replace("_", "").upper(): one for one in Resolution}
_COMPARED = re.compile(r"\s*ON\s+(UPDATE|DELETE)\s+(ALL|KEY|KEYINCLUDING|ALLEXCLUDING)\b", re.IGNORECASE)
_WORD = re.compile(r"\s*([A-Za-z_]\w*)")
_GROUPS = "resolutions of groups of columns are not known here: a conflict is resolved for the whole row, by DEFAULT"


def read_conflicts(option: str, text: str, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers of a MAP with what one of its two options says. text: in its parentheses. before: by others.

    Without COMPARECOLS the key alone is compared. Raises Untranslatable with the place in the text.
    """
    if option == "COMPARECOLS":
        return {**before, **_compared(text)}
    conflict, answer = _resolution(text)
    if conflict.value in before:
        raise Untranslatable(0, "the MAP has a resolution of this conflict already")
    return {"compare": "key", **before, conflict.value: answer}


def _compared(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {"UPDATE": "key", "DELETE": "key"}
    for part, at in split_list(text):
        entry = _COMPARED.match(part)
        if entry is None:
            raise Untranslatable(
                at, "is not of the form ON UPDATE or ON DELETE, with ALL, KEY, KEYINCLUDING or ALLEXCLUDING"
            )
        how = entry[2].upper()
        inside, start = in_parentheses(part, entry.end())
        if how in ("ALL", "KEY"):
            found[entry[1].upper()] = how.lower()
            continue
        names = _names(inside, at + start)
        found[entry[1].upper()] = names if how == "KEYINCLUDING" else {"all_except": names}
    same = found["UPDATE"] == found["DELETE"]
    return {"compare": found["UPDATE"], **({} if same else {"compare_deletes": found["DELETE"]})}


def _resolution(text: str) -> tuple[Conflict, Any]:
    parts = list(split_list(text))
    conflict = CONFLICTS.get(parts[0][0].strip().upper())
    if conflict is None:
        raise Untranslatable(0, f"{parts[0][0].strip() or 'nothing'} is no kind of conflict: {', '.join(CONFLICTS)}")
    if len(parts) != 2:
        raise Untranslatable(parts[-1][1], _GROUPS)
    group, at = parts[1]
    inside, start = in_parentheses(group, 0)
    at += start
    entries = list(split_list(inside))
    if entries[0][0].strip().upper() != "DEFAULT" or len(entries) != 2:
        raise Untranslatable(at, _GROUPS)
    told, place = entries[1]
    word = _WORD.match(told)
    name = word[1].upper() if word else told.strip()
    resolution = RESOLUTIONS.get(name)
    if resolution is None or resolution not in ALLOWED[conflict]:
        why = "adds differences of numbers, which is not done here" if name == "USEDELTA" else "is no resolution of it"
        raise Untranslatable(at + place, f"{name} {why}: {', '.join(_spelled(one) for one in ALLOWED[conflict])}")
    if resolution not in BY_VALUE:
        return conflict, resolution.value
    inside, start = in_parentheses(told, word.end() if word else 0)
    return conflict, {resolution.value: _names(inside, at + place + start)[0]}


def _names(text: str, at: int) -> list[str]:
    try:
        return column_names(text)
    except Untranslatable as error:
        raise Untranslatable(at + error.at, error.why) from None


def _spelled(resolution: Resolution) -> str:
    return resolution.value.replace("_", "").upper()
