"""This module computes the functions that conditions call with constants alone: TO_DATE, HEXTORAW and the like."""

from __future__ import annotations

import re
from datetime import datetime

from airflow_ddlrepl.streams.condition.kinds import Kind, as_moment, as_number
from airflow_ddlrepl.streams.condition.problems import ConditionProblem
from airflow_ddlrepl.streams.condition.tree import Constant, Value

NAMES = ("HEXTORAW", "TO_NUMBER", "TO_DATE", "TO_TIMESTAMP", "TO_TIMESTAMP_TZ")
_FORMAT = {
    "YYYY": "%Y", "RRRR": "%Y", "MM": "%m", "DD": "%d", "HH24": "%H", "MI": "%M", "SS": "%S", "FF": "%f", "FF6": "%f",
    "MON": "%b",
}  # fmt: skip
_FORMAT_WORD = re.compile("|".join(sorted(_FORMAT, key=len, reverse=True)) + r"|[A-Za-z]\w*", re.IGNORECASE)


def computed(name: str, arguments: list[Value], at: int) -> Constant:
    """Return what a function gives for constants. Raises ConditionProblem RUL-103 for another argument."""
    texts = [one.value for one in arguments if isinstance(one, Constant) and isinstance(one.value, str)]
    if len(texts) != len(arguments) or not 1 <= len(texts) <= (2 if name.startswith("TO_") else 1):
        raise ConditionProblem(at, f"{name} takes a text in quotes here, and no value of a message", "RUL-103")
    try:
        match name:
            case "HEXTORAW":
                return Constant(bytes.fromhex(texts[0]), Kind.RAW)
            case "TO_NUMBER" if len(texts) == 1:
                return Constant(as_number(texts[0]), Kind.NUMBER)
            case "TO_NUMBER":
                raise ValueError("TO_NUMBER takes no format here: write the number")
        return Constant(_moment(texts), Kind.MOMENT)
    except ValueError as error:
        raise ConditionProblem(at, f"{name}: {error}", "RUL-103") from None


def _moment(texts: list[str]) -> datetime:
    if len(texts) == 1:
        return as_moment(texts[0])
    unknown = [word for word in _FORMAT_WORD.findall(texts[1]) if word.upper() not in _FORMAT]
    if unknown:
        raise ValueError(f"the format {texts[1]} has {unknown[0]}; known: {' '.join(_FORMAT)}")
    return datetime.strptime(texts[0], _FORMAT_WORD.sub(lambda found: _FORMAT[found[0].upper()], texts[1]))
