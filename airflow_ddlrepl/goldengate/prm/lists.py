"""Read lists in parentheses, as options of TABLE and MAP have them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_ddlrepl.goldengate.prm.conditions import Untranslatable

_PIECE = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[(),]""")
_NAME = re.compile(r"""\s*(?:"((?:[^"]|"")+)"|([A-Za-z_][\w$#]*))\s*""")


def in_parentheses(text: str, at: int) -> tuple[str, int]:
    """Return what stands in the parentheses behind a place of a text, and where that begins; "" without any."""
    opening = re.compile(r"\s*\(").match(text, at)
    if opening is None:
        return "", at
    depth = 1
    for found in _PIECE.finditer(text, opening.end()):
        depth += (found[0] == "(") - (found[0] == ")")
        if depth == 0:
            return text[opening.end() : found.start()], opening.end()
    return text[opening.end() :], opening.end()


def split_list(text: str) -> Iterator[tuple[str, int]]:
    """Yield the parts of a list between its commas, each with its place."""
    depth, start = 0, 0
    for found in _PIECE.finditer(text):
        depth += (found[0] == "(") - (found[0] == ")")
        if found[0] == "," and depth == 0:
            yield text[start : found.start()], start
            start = found.end()
    yield text[start:], start


def column_names(text: str) -> list[str]:
    """Return the names of columns in a list; those without quotes in lower case. Raises Untranslatable."""
    found = []
    for part, at in split_list(text):
        name = _NAME.fullmatch(part)
        if name is None:
            raise Untranslatable(at, f"{part.strip() or 'nothing'} is no column's name")
        found.append(name[1].replace('""', '"') if name[1] else name[2].lower())
    return found
