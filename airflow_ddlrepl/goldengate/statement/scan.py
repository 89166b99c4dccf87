"""This module splits the text of a statement into words, names, constants, signs and comments, in any dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from airflow_ddlrepl.goldengate.statement.dialect import Dialect


class Kind(Enum):
    """A kind says what a piece of a statement's text is."""

    WORD = 1
    NAME = 2
    STRING = 3
    NUMBER = 4
    SIGN = 5
    COMMENT = 6


class Piece(NamedTuple):
    """A piece is one word, name in quotes, constant, sign or comment of a text, from `start` up to `end`.

    value: of a word, its upper-case form; of a name, what stands in the quotes; else the text as written, as `text`.
    """

    kind: Kind
    value: str
    text: str
    start: int
    end: int


_SPACE = r"\s+"
_WORD = r"[^\W\d][\w$#]*"
_NUMBER = r"\d[\w.]*"
_DOUBLE = r'"(?:[^"]|"")*(?:"|\Z)'
_SINGLE = r"'(?:[^']|'')*(?:'|\Z)"
_BACKSLASHED = r"'(?:[^'\\]|\\.|'')*(?:'|\Z)"
_LINE = r"--[^\n\r]*"
_POSTGRES = (
    ("space", _SPACE), ("comment", _LINE), ("block", r"/\*"), ("dollar", r"\$(?:[^\W\d]\w*)?\$"),
    ("string", rf"[eE]{_BACKSLASHED}|(?:[bBxXnN]|[uU]&)?{_SINGLE}"), ("name", rf"(?:[uU]&)?{_DOUBLE}"),
    ("word", _WORD), ("number", _NUMBER), ("sign", r"::|."),
)  # fmt: skip
_MYSQL = (
    ("space", _SPACE), ("comment", r"--(?=\s|\Z)[^\n\r]*|#[^\n\r]*"), ("code", r"/\*M?!"), ("block", r"/\*"),
    ("string", rf'(?:[bBxXnN]|_\w+)?{_BACKSLASHED}|"(?:[^"\\]|\\.|"")*(?:"|\Z)'), ("name", r"`(?:[^`]|``)*(?:`|\Z)"),
    ("word", r"[^\W\d][\w$]*"), ("number", _NUMBER), ("sign", r"."),
)  # fmt: skip
_ORACLE = (
    ("space", _SPACE), ("comment", _LINE), ("block", r"/\*"),
    ("string", rf"[nN]?[qQ]'(?:\[.*?\]|\{{.*?\}}|\(.*?\)|<.*?>|(?P<q>\S).*?(?P=q))'|[nN]?{_SINGLE}"),
    ("name", _DOUBLE), ("word", _WORD), ("number", _NUMBER), ("sign", r"."),
)  # fmt: skip
_PATTERNS = {
    dialect: re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in pieces), re.DOTALL)
    for dialect, pieces in ((Dialect.POSTGRES, _POSTGRES), (Dialect.MYSQL, _MYSQL), (Dialect.ORACLE, _ORACLE))
}
_KINDS = {
    "comment": Kind.COMMENT,
    "string": Kind.STRING,
    "name": Kind.NAME,
    "word": Kind.WORD,
    "number": Kind.NUMBER,
    "sign": Kind.SIGN,
}
_NESTING = re.compile(r"/\*|\*/")


def scan(text: str, dialect: Dialect = Dialect.POSTGRES) -> Iterator[Piece]:
    """Yield the pieces of a text in order, without white space.

    It never fails: a string, name or comment that isn't closed runs to the end. MySQL's executable comments are code:
    only the marks around them are left out.
    """
    match_at = _PATTERNS[dialect].match
    at = 0
    while (match := match_at(text, at)) is not None:
        group, end = str(match.lastgroup if match.lastgroup != "q" else "string"), match.end()
        if (kind := _KINDS.get(group)) is not None:
            yield Piece(kind, _value(kind, match.group()), match.group(), at, end)
        elif group == "block":
            end = _end_of_block(text, at, nests=dialect is Dialect.POSTGRES)
            yield Piece(Kind.COMMENT, text[at:end], text[at:end], at, end)
        elif group == "dollar":
            closing = text.find(match.group(), end)
            end = len(text) if closing < 0 else closing + len(match.group())
            yield Piece(Kind.STRING, text[at:end], text[at:end], at, end)
        elif group == "code":
            yield Piece(Kind.SIGN, match.group(), match.group(), at, end)
        at = end


def _value(kind: Kind, text: str) -> str:
    if kind is Kind.WORD:
        return text.upper()
    if kind is Kind.NAME:
        quote = text[-1]
        return text[text.index(quote) + 1 : -1].replace(quote * 2, quote)
    return text


def _end_of_block(text: str, at: int, *, nests: bool) -> int:
    if not nests:
        closing = text.find("*/", at + 2)
        return len(text) if closing < 0 else closing + 2
    depth = 0
    for match in _NESTING.finditer(text, at):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    return len(text)
