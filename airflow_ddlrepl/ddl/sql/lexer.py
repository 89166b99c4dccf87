"""This module splits SQL into PostgreSQL's tokens; it distinguishes words, strings, comments and quoted names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple


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
_SPACE = re.compile(r"(?:\s|--[^\n\r]*)+")
_WORD = re.compile(r"[^\W\d][\w$]*")
_NUMBER = re.compile(r"\d[\w.]*")
_QUOTED = re.compile(r'(?:[uU]&)?"((?:[^"]|"")*)("|\Z)')
_ESCAPED = re.compile(r"[eE]'(?:[^'\\]|\\.|'')*('|\Z)", re.DOTALL)
_STRING = re.compile(r"(?:[bBxXnN]|[uU]&)?'(?:[^']|'')*('|\Z)")
_DOLLAR = re.compile(r"\$(?:[^\W\d]\w*)?\$")
_COMMENT = re.compile(r"/\*|\*/")


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
    at = 0
    while at < len(text):
        if match := _SPACE.match(text, at):
            at = match.end()
        elif text.startswith("/*", at):
            at = end_of_comment(text, at)
        elif match := _DOLLAR.match(text, at):
            end = text.find(match.group(), match.end())
            end = len(text) if end < 0 else end + len(match.group())
            yield Token(Kind.STRING, text[at:end]), at, end
            at = end
        else:
            token, end = _next(text, at)
            yield token, at, end
            at = end


def _next(text: str, at: int) -> tuple[Token, int]:
    if match := _QUOTED.match(text, at):
        return Token(Kind.QUOTED, match.group(1).replace('""', '"')), match.end()
    for pattern in (_ESCAPED, _STRING):
        if match := pattern.match(text, at):
            return Token(Kind.STRING, match.group()), match.end()
    if match := _WORD.match(text, at):
        return Token(Kind.WORD, match.group().lower()), match.end()
    if match := _NUMBER.match(text, at):
        return Token(Kind.NUMBER, match.group()), match.end()
    if text.startswith("::", at):
        return Token(Kind.SIGN, "::"), at + 2
    return Token(Kind.SIGN, text[at]), at + 1


def end_of_comment(text: str, at: int) -> int:
    """Return where the comment that begins here ends; comments nest in PostgreSQL."""
    depth = 0
    for match in _COMMENT.finditer(text, at):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    return len(text)


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
    match = _WORD.fullmatch(name)
    return match is not None and name == name.lower()
