"""This module splits a condition into tokens and places, in the words, quotes and signs of Oracle."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from airflow_ddlrepl.sql import tokens as sql
from airflow_ddlrepl.sql.languages import CONDITION
from airflow_ddlrepl.sql.lexical import text_in
from airflow_ddlrepl.streams.condition.problems import ConditionProblem

WORD, NAME, TEXT, NUMBER, SIGN, END = "word", "name", "text", "number", "sign", "end"
_KINDS = {sql.WORD: WORD, sql.NAME: NAME, sql.STRING: TEXT, sql.NUMBER: NUMBER}
_SAME = {"!=": "<>", "^=": "<>", "~=": "<>"}


class Token(NamedTuple):
    """A token is a word (in upper case), a name in quotes, a text, a number or a sign. at, end: where it stands."""

    kind: str
    text: str
    at: int
    end: int

    def is_word(self, text: str) -> bool:
        """Return whether the token is this word or sign."""
        return self.text == text and self.kind in (WORD, SIGN)


def tokens(text: str) -> list[Token]:
    """Return the condition's tokens, with one of kind END behind them. Raises ConditionProblem for an open quote."""
    return list(_tokens(text))


class Span(Protocol):
    """A span is a part of a text, from `at` up to `end`."""

    @property
    def at(self) -> int:
        """Return where it begins."""

    @property
    def end(self) -> int:
        """Return the place behind it."""


def replaced(text: str, parts: Sequence[tuple[Span, str]]) -> str:
    """Return a text with others in the places of some of its parts, which are given in the text's order."""
    for part, other in reversed(parts):
        text = text[: part.at] + other + text[part.end :]
    return text


@lru_cache(1024)
def _tokens(text: str) -> tuple[Token, ...]:
    found = [_token(one) for one in sql.tokens(text, CONDITION) if one.kind is not sql.COMMENT]
    return (*found, Token(END, "", len(text.rstrip()), len(text)))


def _token(found: sql.Token) -> Token:
    kind, value, text, at, end = found
    if kind is sql.Kind.OPEN:
        raise ConditionProblem(at, f"this {'comment' if text == '/*' else 'quote'} is not closed")
    if text == "(+)":
        raise ConditionProblem(at, "(+) joins tables: a condition is about one message")
    if kind is sql.STRING:
        value = text_in(text)
    return Token(_KINDS.get(kind, SIGN), _SAME.get(value, value) if kind is sql.SIGN else value, at, end)
