"""This module finds the variables that statements set which the importer does not follow."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_ddlrepl.sql.tokens import NAME, WORD, Token
from airflow_ddlrepl.streams.script.script import tokens

_ENDS = frozenset({"FROM", "WHERE", "USING", "BULK", "LIMIT", "VALUES", ";"})


def selected_variables(text: str) -> Iterator[str]:
    """Yield the variables behind INTO and OUT of a statement of SQL; those of SQL*Plus with their colon."""
    found = list(tokens(text))
    for at, token in enumerate(found):
        if token.word == "INTO" and not (at and found[at - 1].word in ("INSERT", "MERGE")):
            yield from _names(found[at + 1 :])
        elif token.word == "OUT":
            yield from _names(found[at + 1 : at + 3])


def assigned_variables(text: str) -> Iterator[str]:
    """Yield the variables that statements set: by assignments, queries, and what calls give back by name."""
    found = list(tokens(text))
    for before, token, after in zip(found, found[1:], [*found[2:], None], strict=False):
        if token.word == ":=" and before.kind in (WORD, NAME):
            yield _name(before)
        elif before.word == "=>" and token.kind in (WORD, NAME) and after and after.word in (",", ")"):
            yield _name(token)
    for at, token in enumerate(found):
        if token.word == ")" and at + 1 < len(found) and found[at + 1].word == ":=":
            yield _collection(found[: at + 1])
    yield from selected_variables(text)


def _names(found: list[Token]) -> Iterator[str]:
    before = ""
    for token in found:
        if token.word in _ENDS:
            return
        if token.kind in (WORD, NAME):
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
    return token.word or token.text
