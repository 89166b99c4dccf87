"""This module finds the variables that statements set which the importer does not follow."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_ddlrepl.streams.script.script import Token, tokens

_ENDS = frozenset({"FROM", "WHERE", "USING", "BULK", "LIMIT", "VALUES", ";"})


def selected_variables(text: str) -> Iterator[str]:
    """Yield the variables behind INTO and OUT of a statement of SQL; those of SQL*Plus with their colon."""
    found = list(tokens(text))
    for at, token in enumerate(found):
        if token.upper == "INTO" and not (at and found[at - 1].upper in ("INSERT", "MERGE")):
            yield from _names(found[at + 1 :])
        elif token.upper == "OUT":
            yield from _names(found[at + 1 : at + 3])


def assigned_variables(text: str) -> Iterator[str]:
    """Yield the variables that statements set: by assignments, queries, and what calls give back by name."""
    found = list(tokens(text))
    for before, token, after in zip(found, found[1:], [*found[2:], None], strict=False):
        if token.upper == ":=" and before.kind in ("word", "quoted"):
            yield _name(before)
        elif before.upper == "=>" and token.kind in ("word", "quoted") and after and after.upper in (",", ")"):
            yield _name(token)
    for at, token in enumerate(found):
        if token.upper == ")" and at + 1 < len(found) and found[at + 1].upper == ":=":
            yield _collection(found[: at + 1])
    yield from selected_variables(text)


def _names(found: list[Token]) -> Iterator[str]:
    before = ""
    for token in found:
        if token.upper in _ENDS:
            return
        if token.kind in ("word", "quoted"):
            yield f":{_name(token)}" if before == ":" else _name(token)
        before = token.text


def _collection(found: list[Token]) -> str:
    """Return the name before the parenthesis that the last token closes."""
    depth = 0
    for at in range(len(found) - 1, 0, -1):
        depth += (found[at].text == ")") - (found[at].text == "(")
        if depth == 0:
            return _name(found[at - 1])
    return ""


def _name(token: Token) -> str:
    return token.upper or token.text
