"""This module splits a condition into tokens and places; sqlglot knows Oracle's quotes and signs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from sqlglot.dialects.oracle import Oracle
from sqlglot.errors import TokenError
from sqlglot.tokens import TokenType

from airflow_ddlrepl.streams.condition.problems import ConditionProblem

WORD, NAME, TEXT, NUMBER, SIGN, END = "word", "name", "text", "number", "sign", "end"
_KINDS = {
    TokenType.STRING: TEXT,
    TokenType.RAW_STRING: TEXT,
    TokenType.NATIONAL_STRING: TEXT,
    TokenType.IDENTIFIER: NAME,
    TokenType.NUMBER: NUMBER,
}
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


class Standing(Protocol):
    """Something that stands in a text, from `at` up to `end`."""

    @property
    def at(self) -> int:
        """Return where it begins."""

    @property
    def end(self) -> int:
        """Return the place behind it."""


def replaced(text: str, parts: Sequence[tuple[Standing, str]]) -> str:
    """Return a text with others in the places of some of its parts, which are given in the text's order."""
    for part, other in reversed(parts):
        text = text[: part.at] + other + text[part.end :]
    return text


@lru_cache(1024)
def _tokens(text: str) -> tuple[Token, ...]:
    try:
        found = Oracle().tokenize(text)
    except TokenError:
        raise ConditionProblem(_open_quote(text), "this quote is not closed") from None
    result = []
    for one in found:
        kind = _KINDS.get(one.token_type)
        written = one.text
        if kind is None:
            if written == "(+)":
                raise ConditionProblem(one.start, "(+) joins tables: a condition is about one message")
            kind = WORD if written[:1].isalpha() or written[:1] == "_" else SIGN
            written = written.upper() if kind is WORD else _SAME.get(written, written)
        result.append(Token(kind, written, one.start, one.end + 1))
    return (*result, Token(END, "", len(text.rstrip()), len(text)))


def _open_quote(text: str) -> int:
    """Return where the first quote stands that is never closed."""
    at = 0
    while at < len(text):
        sign = text[at]
        if sign in ("'", '"'):
            end = text.find(sign, at + 1)
            if end < 0:
                return at
            at = end
        at += 1
    return max(text.find("'"), 0)
