"""This module splits SQL into PostgreSQL's tokens; it distinguishes words, strings, comments and quoted names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from airflow_ddlrepl.sql import lexical


class Kind(StrEnum):
    """A token's kind says what it is: a word, a quoted name, a string, a number or a sign."""

    WORD = "word"
    QUOTED = "quoted"
    STRING = "string"
    NUMBER = "number"
    SIGN = "sign"


class Token(NamedTuple):
    """A token is one word, name, constant or sign of an SQL text.

    text: of a word in lower case, of a quoted name without its quotes, else as written.
    """

    kind: Kind
    text: str


SHORT = 200
_KINDS = (
    ("space", rf"(?:{lexical.SPACE}|{lexical.COMMENT})++"),
    ("block", r"/\*"),
    ("dollar", lexical.DOLLAR),
    (Kind.QUOTED, lexical.QUOTED),
    (Kind.STRING, lexical.STRING),
    (Kind.WORD, lexical.WORD),
    (Kind.NUMBER, lexical.NUMBER),
    (Kind.SIGN, "::|."),
)
_WORD = re.compile(lexical.WORD)


@cache
def _token() -> re.Pattern[str]:
    """Return the expression of a token; it is made on first use, because that takes long."""
    return re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS), re.DOTALL)


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a statement without comments and white space.

    It never fails: what isn't closed runs to the end.
    """
    return iter(_known(text)) if len(text) <= SHORT else _each(text)


def _each(text: str) -> Iterator[Token]:
    return (token for token, _, _ in placed_tokens(text))


@lru_cache(4096)
def _known(text: str) -> tuple[Token, ...]:
    """Return the tokens of a short text, cached: a planner reads the names of types and expressions again and again."""
    return tuple(_each(text))


def placed_tokens(text: str) -> Iterator[tuple[Token, int, int]]:
    """Yield the tokens of a statement, each with the places where it begins and ends in the text."""
    at, pattern = 0, _token()
    while match := pattern.match(text, at):
        begin, at, kind, part = at, match.end(), match.lastgroup, match.group()
        if kind == "block":
            at = lexical.end_of_comment(text, begin)
        elif kind == "dollar":
            closing = text.find(part, at)
            at = len(text) if closing < 0 else closing + len(part)
            yield Token(Kind.STRING, text[begin:at]), begin, at
        elif kind == Kind.WORD:
            yield Token(Kind.WORD, lexical.lower(part)), begin, at
        elif kind == Kind.QUOTED:
            yield Token(Kind.QUOTED, lexical.name_in(part)), begin, at
        elif kind != "space":
            yield Token(Kind(str(kind)), part), begin, at


def parts(words: Sequence[Token]) -> list[list[Token]]:
    """Return the words between commas that are in no parentheses, a list for each."""
    found: list[list[Token]] = [[]]
    depth = 0
    for word in words:
        depth += (word.text in "([") - (word.text in ")]") if word.kind is Kind.SIGN else 0
        if word == Token(Kind.SIGN, ",") and depth == 0:
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


def _spelled(token: Token) -> str:
    if token.kind != Kind.QUOTED or _plain(token.text):
        return token.text
    doubled = token.text.replace('"', '""')
    return f'"{doubled}"'


def _plain(name: str) -> bool:
    return _WORD.fullmatch(name) is not None and name == lexical.lower(name)
