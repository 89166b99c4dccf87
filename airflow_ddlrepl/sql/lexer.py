"""This module reads SQL as PostgreSQL does: words in lower case, names without quotes, and no comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from airflow_ddlrepl.sql import lexical
from airflow_ddlrepl.sql.languages import POSTGRES
from airflow_ddlrepl.sql.tokens import COMMENT, NAME, WORD, Kind
from airflow_ddlrepl.sql.tokens import tokens as _split

__all__ = ["Kind", "Word", "canonical", "parts", "placed_tokens", "tokens"]


class Word(NamedTuple):
    """A word is one word, name, constant or sign of an SQL text, without its place and its quotes."""

    kind: Kind
    text: str
    """Of a word in lower case, of a name in quotes without them, else as written."""


SHORT = 200
_WORD = re.compile(lexical.WORD)
_NEW = tuple.__new__


def tokens(text: str) -> Iterator[Word]:
    """Yield the tokens of a statement without comments and white space.

    It never fails: what isn't closed runs to the end.
    """
    return iter(_known(text)) if len(text) <= SHORT else _each(text)


def _each(text: str) -> Iterator[Word]:
    return (token for token, _, _ in placed_tokens(text))


@lru_cache(4096)
def _known(text: str) -> tuple[Word, ...]:
    """Return the tokens of a short text, cached: a planner reads the names of types and expressions again and again."""
    return tuple(_each(text))


def placed_tokens(text: str) -> Iterator[tuple[Word, int, int]]:
    """Yield the tokens of a statement, each with the places where it begins and ends in the text."""
    for kind, value, part, start, end in _split(text, POSTGRES):
        if kind is WORD:
            yield _NEW(Word, (kind, lexical.lower(part))), start, end
        elif kind is not COMMENT:
            yield _NEW(Word, (kind, value if kind is NAME else part)), start, end


def parts(words: Sequence[Word]) -> list[list[Word]]:
    """Return the words between commas that are in no parentheses, a list for each."""
    found: list[list[Word]] = [[]]
    depth = 0
    for word in words:
        depth += (word.text in "([") - (word.text in ")]") if word.kind is Kind.SIGN else 0
        if word == Word(Kind.SIGN, ",") and depth == 0:
            found.append([])
        else:
            found[-1].append(word)
    return found


def canonical(text: str) -> str:
    """Return one spelling for texts that differ only in white space and needless quotes: `"a".b [ ]` is `a.b[]`."""
    return _known_spelling(text) if len(text) <= SHORT else _spelling(text)


def _spelling(text: str) -> str:
    return " ".join(_spelled(t) for t in tokens(text))


_known_spelling = lru_cache(4096)(_spelling)


def _spelled(token: Word) -> str:
    if token.kind is not NAME or _plain(token.text):
        return token.text
    doubled = token.text.replace('"', '""')
    return f'"{doubled}"'


def _plain(name: str) -> bool:
    return _WORD.fullmatch(name) is not None and name == lexical.lower(name)
