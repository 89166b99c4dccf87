"""Read HVR 6's exported definitions: `{"changes": [{"add_channel": {…}}]}`, one channel, or a list of actions."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from json.decoder import JSONDecoder
from typing import Any

from airflow_ddlrepl.hvr.definitions.definition import ALL, HvrAction, HvrDefinition, HvrTable, Problems

_ACTION_KEYS = frozenset(("type", "loc_scope", "table_scope", "params", "channel", "comment", "annotation"))
_ACTIONS, _TABLES = ("add_actions", "actions"), ("add_tables", "tables")


def read_json(text: str) -> list[HvrDefinition]:
    """Return the channels that the text defines. Raises Problems when it is no JSON or defines none."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise Problems([(error.lineno, f"not valid JSON: {error.msg}")]) from None
    except RecursionError:
        raise Problems([(1, "too deeply nested for a definition")]) from None
    reader = _Reader(lines_of(text))
    if isinstance(data, dict) and "changes" in data:
        places = [("changes", number) for number in range(len(_list(data["changes"])))]
        found = [reader.change(data["changes"][place[1]], place) for place in places]
        channels = _merged([one for one in found if one is not None])
    else:
        is_list = isinstance(data, list)
        channels = [reader.channel({"actions": data} if is_list else data, (), None if is_list else "actions")]
    if not channels and not reader.problems:
        reader.problems.append((1, "no channel is defined here: export it with its actions"))
    if reader.problems:
        raise Problems(reader.problems)
    return channels


def _merged(found: list[HvrDefinition]) -> list[HvrDefinition]:
    """Join what several changes say of one channel."""
    channels: dict[str, HvrDefinition] = {}
    for one in found:
        known = channels.get(one.name, HvrDefinition(one.name, (), {}))
        tables = {**(known.tables or {}), **(one.tables or {})} or None
        channels[one.name] = HvrDefinition(
            one.name, known.actions + one.actions, {**known.groups, **one.groups}, tables
        )
    return list(channels.values())


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


class _Reader:
    """This reader turns parts of the data into values and collects what is wrong with them."""

    def __init__(self, lines: Mapping[Place, int]) -> None:
        self._lines = lines
        self.problems: list[tuple[int, str]] = []

    def change(self, data: Any, place: Place) -> HvrDefinition | None:
        """Return what one definition change says of a channel; None: it is about something else, as a location."""
        for kind, content in data.items() if isinstance(data, dict) else ():
            if kind == "add_channel" or kind in _ACTIONS or kind in _TABLES:
                return self.channel(content, (*place, kind), "actions")
            if "channel" in kind or "action" in kind or "table" in kind:
                self._note((*place, kind), f"a change {kind} can't be read: export the channel as a whole")
        return None

    def channel(self, data: Any, place: Place, key: str | None) -> HvrDefinition:
        """Return the channel. key: where its actions stand; None: the data at this place are its actions."""
        if not isinstance(data, dict):
            self._note(place, "a channel has keys and values")
            return HvrDefinition("", (), {})
        actions = _list(data.get("actions"))
        where = place if key is None else (*place, key)
        groups = {
            str(name): tuple(str(m) for m in _list(_dict(group).get("members")))
            for name, group in _dict(data.get("loc_groups")).items()
        }
        tables = {str(name): self._table(str(name), table) for name, table in _dict(data.get("tables")).items()}
        return HvrDefinition(
            str(data.get("channel") or ""),
            tuple(filter(None, (self._action(one, (*where, number)) for number, one in enumerate(actions)))),
            groups,
            tables or None,
        )

    def _table(self, name: str, data: Any) -> HvrTable:
        data = _dict(data)
        group = str(data.get("table_group") or data.get("group") or "")
        return HvrTable(str(data.get("base_name") or name), group, bool(data.get("cols")))

    def _action(self, data: Any, place: Place) -> HvrAction | None:
        if not isinstance(data, dict) or not isinstance(data.get("type"), str):
            self._note(place, "an action has a type, for example AdaptDDL")
            return None
        for key in sorted(data.keys() - _ACTION_KEYS):
            self._note((*place, key), f"an action has no {key}: known are {', '.join(sorted(_ACTION_KEYS))}")
        params = data.get("params") or {}
        if not isinstance(params, dict):
            self._note((*place, "params"), "params has keys and values")
            return None
        return HvrAction(
            self._lines[place],
            data["type"],
            dict(self._values(params, (*place, "params"))),
            str(data.get("loc_scope") or ALL),
            str(data.get("table_scope") or ALL),
        )

    def _values(self, params: Mapping[str, Any], place: Place) -> Iterator[tuple[str, str | None]]:
        for name, value in params.items():
            if value is True:
                yield name, None
            elif isinstance(value, str | int | float) and value is not False:
                yield name, str(value)
            elif value is not False and value is not None:
                self._note((*place, name), f"{name} has to be one value")

    def _note(self, place: Place, problem: str) -> None:
        self.problems.append((self._lines[place], problem))


Place = tuple[str | int, ...]
_DECODER = JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(r"[^\s,\]}]+")


def lines_of(text: str) -> dict[Place, int]:
    """Return the line of every value by its keys and indexes. The text must be valid JSON."""
    found: dict[Place, int] = {}
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    _value(text, 0, (), found)
    return {place: bisect_right(starts, at) for place, at in found.items()}


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int, place: Place, found: dict[Place, int]) -> int:
    """Note the value that begins at this offset and those in it; return the offset behind it."""
    at = found[place] = _after_space(text, at)
    if text[at] == '"':
        return _DECODER.raw_decode(text, at)[1]
    if text[at] not in "{[":
        match = _SCALAR.match(text, at)
        return match.end() if match else at
    is_object, number = text[at] == "{", 0
    at = _after_space(text, at + 1)
    while text[at] not in "}]":
        key: str | int = number
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _after_space(text, at) + 1  # the colon
        at = _after_space(text, _value(text, at, (*place, key), found))
        at = _after_space(text, at + 1) if text[at] == "," else at
        number += 1
    return at + 1
