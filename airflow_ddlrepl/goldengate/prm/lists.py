"""Read lists in parentheses, as options of TABLE and MAP have them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_ddlrepl.goldengate.prm.conditions import Untranslatable
from airflow_ddlrepl.sql import lexical
from airflow_ddlrepl.sql.languages import ARGUMENTS
from airflow_ddlrepl.sql.tokens import tokens

_OPENING = re.compile(r"\s*\(")
_NAME = re.compile(rf"\s*(?:({lexical.NAME})|([A-Za-z_][\w$#]*))\s*")


def in_parentheses(text: str, at: int) -> tuple[str, int]:
    """Return what stands in the parentheses behind a place of a text, and where that begins; "" without any."""
    opening = _OPENING.match(text, at)
    if opening is None:
        return "", at
    depth = 1
    for token in tokens(text, ARGUMENTS, opening.end()):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            return text[opening.end() : token.start], opening.end()
    return text[opening.end() :], opening.end()


def split_list(text: str) -> Iterator[tuple[str, int]]:
    """Yield the parts of a list between its commas, each with its place."""
    depth, start = 0, 0
    for token in tokens(text, ARGUMENTS):
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and depth == 0:
            yield text[start : token.start], start
            start = token.end
    yield text[start:], start


def column_names(text: str) -> list[str]:
    """Return the names of columns in a list; those without quotes in lower case. Raises Untranslatable."""
    found = []
    for part, at in split_list(text):
        name = _NAME.fullmatch(part)
        if name is None:
            raise Untranslatable(at, f"{part.strip() or 'nothing'} is no column's name")
        found.append(lexical.name_in(name[1]) if name[1] else name[2].lower())
    return found
