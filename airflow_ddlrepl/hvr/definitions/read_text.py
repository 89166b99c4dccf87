"""Read actions as HVR's users write them: lines of text, or the rows of a table.

AdaptDDL /AddTablePattern="*"                         HVR 5's notation
AdaptDDL AddTablePattern=t*, IgnoreTablePattern=tmp*  HVR 6's notation
SOURCE * Capture                                      with its scope: group or location, then table
SOURCE | * | AdaptDDL | AddTablePattern=t*            a row of a table, also with a line of headings
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airflow_ddlrepl.hvr.action_text import split_parameters
from airflow_ddlrepl.hvr.definitions.definition import ALL, HvrAction, HvrDefinition, Problems
from airflow_ddlrepl.hvr.definitions.vocabulary import ACTIONS
from airflow_ddlrepl.notation.suggestion import suggestion

_CELL = re.compile(r'"|\t|(?<!\S)\|(?!\S)')
_RULE = re.compile(r"[\s|:+=-]+")
_HEADINGS = {
    "channel": "channel",
    "group": "locations",
    "location": "locations",
    "loc": "locations",
    "table": "tables",
    "action": "action",
    "parameter": "values",
    "parameters": "values",
    "annotation": "",
}
_SCOPES: dict[int, tuple[str, ...]] = {
    0: (),
    1: ("locations",),
    2: ("locations", "tables"),
    3: ("channel", "locations", "tables"),
}


@dataclass(slots=True)
class _Row:
    """A row is one line's parts: its scopes by what they are, the action's name, the parameters' text."""

    scopes: dict[str, str]
    action: str = ""
    values: str = ""


def read_text(text: str) -> HvrDefinition:
    """Return the channel that the lines describe. Raises Problems for lines that can't be read, each with its line."""
    problems: list[tuple[int, str]] = []
    actions: list[HvrAction] = []
    headings: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#") or _RULE.fullmatch(line):
            continue
        if named := _headings(line):
            headings = named
            continue
        try:
            row = _row(line, headings)
            values = split_parameters(row.values)
        except ValueError as error:
            problems.append((number, str(error)))
            continue
        scopes = {key: value or ALL for key, value in row.scopes.items() if key}
        actions.append(HvrAction(number, row.action, values, **scopes))
    channels = {one.channel for one in actions} - {ALL}
    if len(channels) > 1:
        problems.append((1, f"the lines are of several channels: {', '.join(sorted(channels))}; import one at a time"))
    if not problems and not actions:
        problems.append((1, "there is no action here"))
    if problems:
        raise Problems(problems)
    return HvrDefinition(next(iter(channels), ""), tuple(actions), {})


def _cells(line: str) -> list[str]:
    cells = [cell.strip().strip("`") for cell in _split(line)]
    return cells[1:] if line.startswith("|") else cells


def _split(line: str) -> Iterator[str]:
    """Yield the parts between tabs and pipes that stand in no quotes: those behind them are pairs."""
    start, is_paired = 0, line.count('"') % 2 == 0
    for sign in _CELL.finditer(line):
        if sign[0] == '"':
            is_paired = not is_paired
        elif is_paired:
            yield line[start : sign.start()]
            start = sign.end()
    yield line[start:]


def _headings(line: str) -> tuple[str, ...]:
    """Return what the columns mean when the line names them; else nothing."""
    words = [word.lower() for cell in _cells(line) for word in cell.split()]
    is_heading = "action" in words and len(words) > 1 and set(words) <= _HEADINGS.keys()
    return tuple(_HEADINGS[word] for word in words) if is_heading else ()


def _row(line: str, headings: Sequence[str]) -> _Row:
    cells = _cells(line)
    if len(cells) == 1:
        return _words(line, headings)
    if headings:
        parts = dict(zip(headings, cells, strict=False))
        row = _words(parts.get("action", ""), ())
        scopes = {key: parts[key] for key in ("channel", "locations", "tables") if key in parts}
        return _Row(row.scopes | scopes, row.action, f"{row.values} {parts.get('values', '')}".strip())
    known = next((n for n, cell in enumerate(cells) if cell.split()[:1] and cell.split()[0] in ACTIONS), None)
    if known is None:
        raise ValueError(unknown_action(cells[min(2, len(cells) - 1)]))
    row = _words(cells[known], ())
    return _Row(_scopes(cells[:known], ()), row.action, f"{row.values} {' '.join(cells[known + 1 :])}".strip())


def _words(line: str, headings: Sequence[str]) -> _Row:
    """Return the parts of a line whose scopes are words before the action's name."""
    words = list(re.finditer(r"\S+", line))
    known = next((n for n, word in enumerate(words[:5]) if word[0] in ACTIONS), None)
    if known is None:
        names = [word[0] for word in words if word[0] != ALL and not word[0].startswith("/") and "=" not in word[0]]
        raise ValueError(unknown_action(names[-1] if names else line))
    named = tuple(heading for heading in headings[: headings.index("action")]) if headings else ()
    return _Row(_scopes([w[0] for w in words[:known]], named), words[known][0], line[words[known].end() :].strip())


def _scopes(names: Sequence[str], headings: Sequence[str]) -> dict[str, str]:
    kinds = headings if len(headings) == len(names) else _SCOPES.get(len(names))
    if kinds is None:
        raise ValueError("before an action stand its channel, group and table, and no more")
    return dict(zip(kinds, names, strict=True))


def unknown_action(name: str) -> str:
    """Return the sentence for a name that is no action of HVR."""
    return f"HVR has no action {name}; {suggestion(name, ACTIONS)}"


def unknown_parameters(action: HvrAction) -> Iterator[str]:
    """Return a sentence for each parameter that the action does not have."""
    known = ACTIONS[action.name]
    for name in action.values:
        if name not in known and ALL not in known:
            yield f"{action.name} has no parameter {name}; {suggestion(name, known)}"
