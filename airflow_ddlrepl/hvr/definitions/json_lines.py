"""Find the line on which each value of a JSON text begins."""

from __future__ import annotations

import re
from bisect import bisect_right
from json.decoder import JSONDecoder

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
