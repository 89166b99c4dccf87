"""This module splits the text of a statement into words, names, constants, signs and comments, in any dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from functools import cache, lru_cache
from typing import NamedTuple

from airflow_ddlrepl.sql import lexical
from airflow_ddlrepl.sql.dialect import Dialect


class Kind(Enum):
    """A kind says what a piece of a statement's text is."""

    WORD = 1
    NAME = 2
    STRING = 3
    NUMBER = 4
    SIGN = 5
    COMMENT = 6


WORD, NAME, STRING, NUMBER, SIGN, COMMENT = Kind
"""The kinds, for what looks at every piece: reading one off its class takes as long as a call (Python 3.11)."""


class Piece(NamedTuple):
    """A piece is one word, name in quotes, constant, sign or comment of a text, from `start` up to `end`.

    value: of a word, its upper-case form; of a name, what stands in the quotes; else the text as written, as `text`.
    """

    kind: Kind
    value: str
    text: str
    start: int
    end: int


_WORD = r"[^\W\d][\w$#]*"
_PLAIN = r"[^\W\d][\w$#]*+(?!['\"&])"
"""A word that is no prefix of a constant or a quoted name: most of a text, so it is looked for first."""
_NUMBER = r"\d[\w.]*"
_DOUBLE = r'"(?:[^"]|"")*(?:"|\Z)'
_SINGLE = r"'(?:[^']|'')*(?:'|\Z)"
_BACKSLASHED = r"'(?:[^'\\]|\\.|'')*(?:'|\Z)"
_LINE = r"--[^\n\r]*"
_POSTGRES = (
    ("plain", rf"{lexical.WORD}(?!['\"&])"), ("comment", lexical.COMMENT), ("block", r"/\*"),
    ("dollar", lexical.DOLLAR), ("string", lexical.STRING), ("name", lexical.QUOTED), ("word", lexical.WORD),
    ("number", lexical.NUMBER), ("sign", rf"::|(?!{lexical.SPACE})."),
)  # fmt: skip
_MYSQL = (
    ("plain", r"[^\W\d][\w$]*+(?!['\"&])"),
    ("comment", r"--(?=\s|\Z)[^\n\r]*|#[^\n\r]*"), ("code", r"/\*M?!"), ("block", r"/\*"),
    ("string", rf'(?:[bBxXnN]|_\w+)?{_BACKSLASHED}|"(?:[^"\\]|\\.|"")*(?:"|\Z)'), ("name", r"`(?:[^`]|``)*(?:`|\Z)"),
    ("word", r"[^\W\d][\w$]*"), ("number", _NUMBER), ("sign", r"\S"),
)  # fmt: skip
_ORACLE = (
    ("plain", _PLAIN), ("comment", _LINE), ("block", r"/\*"),
    ("string", rf"[nN]?[qQ]'(?:\[.*?\]|\{{.*?\}}|\(.*?\)|<.*?>|(?P<q>\S).*?(?P=q))'|[nN]?{_SINGLE}"),
    ("name", _DOUBLE), ("word", _WORD), ("number", _NUMBER), ("sign", r"\S"),
)  # fmt: skip
_SPACES = {Dialect.POSTGRES: lexical.SPACE, Dialect.MYSQL: r"\s", Dialect.ORACLE: r"\s"}
_DIALECTS = {Dialect.POSTGRES: _POSTGRES, Dialect.MYSQL: _MYSQL, Dialect.ORACLE: _ORACLE}
_LONG = ("comment", "block", "dollar")


@cache
def _pattern(dialect: Dialect) -> re.Pattern[str]:
    """Return the expression of a single piece; it is made on first use, because that takes long."""
    kinds = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _DIALECTS[dialect])
    return re.compile(f"{_SPACES[dialect]}*+(?:{kinds})", re.DOTALL)


@cache
def _around_comments(dialect: Dialect) -> re.Pattern[str]:
    """Return an expression for what lies before the next comment or dollar-quoted string, or for the mark of one.

    It reads the pieces in the same order as the expression of single pieces does, so both see the same comments.
    """
    kinds = _DIALECTS[dialect]
    long = [(kind, pattern) for kind, pattern in kinds if kind in _LONG]
    before: list[str] = [f"{_SPACES[dialect]}++"]
    barred: list[str] = []
    for kind, pattern in kinds:
        if kind in _LONG:
            barred.append(pattern)
        else:
            before.append(f"(?!{'|'.join(barred)})(?:{pattern})" if barred else f"(?:{pattern})")
    marks = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in long)
    return re.compile(f"(?:{'|'.join(before)})++|{marks}", re.DOTALL)


_KINDS = {
    "comment": COMMENT,
    "string": STRING,
    "q": STRING,
    "number": NUMBER,
    "sign": SIGN,
    "code": SIGN,
}
_NEW = tuple.__new__
"""Makes a piece in half the time of a call, for words and signs, which are most of a text."""


@lru_cache(32)
def scan(text: str, dialect: Dialect = Dialect.POSTGRES) -> tuple[Piece, ...]:
    """Return the pieces of a text in order, without white space; stages that ask for the same text get the same ones.

    It never fails: a string, name or comment that isn't closed runs to the end. MySQL's executable comments are code:
    only the marks around them are left out.
    """
    return tuple(pieces(text, dialect))


def pieces(text: str, dialect: Dialect) -> Iterator[Piece]:
    """Yield the pieces of a text as far as they are asked for: what a statement is about stands at its beginning."""
    pattern = _pattern(dialect)
    at: int | None = 0
    while at is not None:
        matches, at = pattern.finditer(text, at), None
        for match in matches:
            group = match.lastgroup or ""
            part = match[group]
            start, end = match.span(group)
            if group == "plain" or group == "word":
                yield _NEW(Piece, (WORD, part.upper(), part, start, end))
            elif group == "name":
                yield Piece(NAME, _name_in(part), part, start, end)
            elif group == "block" or group == "dollar":
                at = _end_of_long(text, group, match, dialect)
                yield Piece(COMMENT if group == "block" else STRING, text[start:at], text[start:at], start, at)
                break
            else:
                yield _NEW(Piece, (_KINDS[group], part, part, start, end))


def _name_in(quoted: str) -> str:
    return quoted[1:-1].replace("``", "`") if quoted[0] == "`" else lexical.name_in(quoted)


def comments(text: str, dialect: Dialect) -> Iterator[Piece]:
    """Yield the comments among the pieces of a text, without making the others."""
    pattern = _around_comments(dialect)
    at = 0
    while (match := pattern.match(text, at)) is not None:
        group, at = match.lastgroup, match.end()
        if group == "block" or group == "dollar":
            at = _end_of_long(text, group, match, dialect)
        if group == "block" or group == "comment":
            comment = text[match.start() : at]
            yield Piece(COMMENT, comment, comment, match.start(), at)


def _end_of_long(text: str, group: str, match: re.Match[str], dialect: Dialect) -> int:
    """Return the end of a comment or a dollar-quoted string, which no pattern finds."""
    if group == "dollar":
        return _end_of_dollars(text, match[group], match.end())
    return _end_of_block(text, match.start(group), nests=dialect is Dialect.POSTGRES)


def _end_of_dollars(text: str, quote: str, at: int) -> int:
    closing = text.find(quote, at)
    return len(text) if closing < 0 else closing + len(quote)


def _end_of_block(text: str, at: int, *, nests: bool) -> int:
    if not nests:
        closing = text.find("*/", at + 2)
        return len(text) if closing < 0 else closing + 2
    return lexical.end_of_comment(text, at)
