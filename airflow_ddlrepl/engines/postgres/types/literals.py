"""This module takes the texts of arrays and composite values apart, as the server writes them."""

from __future__ import annotations

import re

_ITEM = re.compile(r'"((?:[^"\\]|\\.)*)"|((?:[^",{}\\]|\\.)+)', re.DOTALL)
_FIELD = re.compile(r'((?:"(?:[^"\\]|\\.|"")*"|[^",()\\]|\\.)*)([,)])', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_OF_FIELD = re.compile(r'"((?:[^"\\]|\\.|"")*)"|\\(.)', re.DOTALL)


def array_items(text: str, *, is_deep: bool) -> list[str | None] | None:
    """Return the texts of an array's items, None for NULL; None for an array that has other dimensions.

    is_deep: the items are arrays themselves. An array whose first item is not number 1 has its bounds before it, and is
    no array for anybody else.
    """
    if text == "{}":
        return []
    if not text.startswith("{") or text.startswith("{{") != is_deep:
        return None
    if is_deep:
        return [*_rows(text[1:-1])]
    place, items = 1, list[str | None]()
    while found := _ITEM.match(text, place):
        quoted, plain = found.groups()
        if quoted is not None:
            items.append(_ESCAPED.sub(r"\1", quoted))
        else:
            items.append(None if plain.upper() == "NULL" else _ESCAPED.sub(r"\1", plain))
        place = found.end() + 1
    return items


def _rows(text: str) -> list[str]:
    """Return the texts of arrays that are items of an array."""
    rows, depth, start, place = [], 0, 0, 0
    while place < len(text):
        sign = text[place]
        if sign == '"':
            found = _ITEM.match(text, place)
            place = found.end() if found else len(text)
            continue
        depth += (sign == "{") - (sign == "}")
        if sign == "}" and depth == 0:
            rows.append(text[start : place + 1])
            start = place + 2
        place += 1 + (sign == "\\")
    return rows


def composite_fields(text: str) -> list[str | None] | None:
    """Return the texts of a composite value's fields, None for NULL; None for a text that is no such value."""
    place, fields = 1, list[str | None]()
    while found := _FIELD.match(text, place):
        fields.append(_OF_FIELD.sub(_unquoted, found[1]) if found[1] else None)
        place = found.end()
        if found[2] == ")":
            return fields if place == len(text) else None
    return None


def _unquoted(found: re.Match[str]) -> str:
    return found[2] if found[1] is None else re.sub(r'\\(.)|""', lambda one: one[1] or '"', found[1], flags=re.DOTALL)
