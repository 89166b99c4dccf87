"""This module splits a SQL script into what SQL*Plus runs one by one: blocks, statements, its own lines."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from airflow_ddlrepl.sql.languages import SCRIPT
from airflow_ddlrepl.sql.tokens import COMMENT, Kind, Token
from airflow_ddlrepl.sql.tokens import tokens as split
from airflow_ddlrepl.streams.script.vocabulary import SQL, SQLPLUS

_WORD = re.compile(r"@@?|[A-Za-z][\w$#]*|<<|/|\S")
_LINE_END = re.compile(r"\n")
_EMPTY = re.compile(r"\n[ \t]*(?=\n)")
_HYPHEN = re.compile(r"-(?=[ \t]*$)", re.MULTILINE)
_STORED = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:NON)?EDITIONABLE\s+)?(FUNCTION|PROCEDURE|PACKAGE|TRIGGER|TYPE\s+BODY|TYPE)\b",
    re.IGNORECASE,
)
_OPENING = frozenset({"BEGIN", "IF", "LOOP", "CASE"})


class UnitKind(StrEnum):
    """A unit's kind says what runs it: PL/SQL, SQL, SQL*Plus, or nobody knows what it is."""

    BLOCK = "block"
    STORED = "stored"
    SQL = "SQL"
    SQLPLUS = "SQL*Plus"
    UNKNOWN = "unknown"


class Unit(NamedTuple):
    """A unit is a part of a script that is run at once. at: its first character. problem: what is wrong with it."""

    kind: UnitKind
    text: str
    at: int
    problem: str = ""


def units(script: str) -> Iterator[Unit]:
    """Yield the units of a script."""
    at, missing = 0, dict[str, int]()
    while (at := _blank(script, at, missing)) < len(script):
        word = _WORD.match(script, at)
        name = word[0].upper() if word else script[at]
        if name in ("BEGIN", "DECLARE", "<<"):
            unit = _block(script, at, missing)
        elif name in ("EXEC", "EXECUTE"):
            unit = _executed(script, at)
        elif name == "CALL":
            unit = _statement(script, at, missing)._replace(kind=UnitKind.BLOCK)
        elif _STORED.match(script, at):
            unit = _stored(script, at, missing)
        elif name in SQLPLUS or name.startswith("@"):
            unit = Unit(UnitKind.SQLPLUS, script[at : _continued(script, at)], at)
        elif name in SQL:
            unit = _statement(script, at, missing)
        else:
            unit = Unit(UnitKind.UNKNOWN, script[at : _line_end(script, at)], at)
        at += max(len(unit.text), 1)
        if unit.kind is not UnitKind.SQLPLUS or unit.text.strip() != "/":
            yield unit


def tokens(text: str, at: int = 0, missing: dict[str, int] | None = None) -> Iterator[Token]:
    """Yield the tokens of a text from a character on, without comments and blanks.

    missing: which ends of long texts there are no more, and from where on: they are not looked for again.
    """
    return (token for token in split(text, SCRIPT, at, missing) if token.kind not in (COMMENT, Kind.SPACE))


def _blank(script: str, at: int, missing: dict[str, int]) -> int:
    """Return where the next unit begins: behind blanks, comments, lines that run a block, and signs alone."""
    for token in tokens(script, at, missing):
        if token.kind is not Kind.RUN and token.text not in (";", "/"):
            return token.start
    return len(script)


def _block(script: str, at: int, missing: dict[str, int]) -> Unit:
    depth, before, last = 0, "", ""
    for token in tokens(script, at, missing):
        word = token.word
        if token.kind is Kind.RUN and depth == 0:
            return Unit(UnitKind.BLOCK, script[at : token.start], at, "the block has no BEGIN … END;")
        if token.kind is Kind.OPEN:
            what = "comment" if token.text == "/*" else "quote"
            return Unit(UnitKind.BLOCK, script[at:], at, f"a {what} is not closed{_where(script, token.start)}")
        if word in _OPENING and before != "END":
            depth += 1
        elif word == "END":
            depth -= 1
        elif word == ";" and depth == 0 and "END" in (last, before):  # declarations end otherwise
            return Unit(UnitKind.BLOCK, script[at : token.start + 1], at)
        last, before = before, word
    return Unit(UnitKind.BLOCK, script[at:], at, "its BEGIN has no END;")


def _where(script: str, at: int) -> str:
    return f" (line {line_of(script, at)})"


def line_of(text: str, at: int) -> int:
    """Return the number of the line of a character, from 1 on."""
    return bisect_left(line_ends(text), at) + 1


@lru_cache(4)
def line_ends(text: str) -> list[int]:
    """Return where the lines of a text end."""
    return [found.start() for found in _LINE_END.finditer(text)]


def _executed(script: str, at: int) -> Unit:
    """Return a call behind EXEC: a line, with those that follow a hyphen or an open parenthesis, as a block."""
    end = _continued(script, at)
    depth = script.count("(", at, end) - script.count(")", at, end)
    while end < len(script) and depth > 0:
        following = _line_end(script, end + 1)
        if following == end:
            break
        depth += script.count("(", end, following) - script.count(")", end, following)
        end = following
    return Unit(UnitKind.BLOCK, _HYPHEN.sub(" ", script[at:end]), at)


def _stored(script: str, at: int, missing: dict[str, int]) -> Unit:
    """Return a statement that stores a program, up to a line with a slash alone, or a type, which may end before."""
    found = _STORED.match(script, at)
    is_type = found is not None and found[1].upper() == "TYPE"
    depth, behind = 0, at
    for token in tokens(script, at, missing):
        depth += (token.text == "(") - (token.text == ")")
        if token.kind is Kind.RUN or (is_type and depth == 0 and _begins_unit(script, token, behind)):
            return Unit(UnitKind.STORED, script[at : token.start], at)
        if is_type and depth == 0 and token.text == ";":
            return Unit(UnitKind.STORED, script[at : token.start + 1], at)
        behind = token.end
    return Unit(UnitKind.STORED, script[at:], at)


def _statement(script: str, at: int, missing: dict[str, int]) -> Unit:
    """Return a statement of SQL: up to its semicolon, a line with a slash alone, or an empty line."""
    empty = _empty_lines(script)
    place = bisect_left(empty, at)
    end = empty[place] if place < len(empty) else len(script)
    behind = at
    for token in tokens(script, at, missing):
        if token.start >= end or (token.start > at and _begins_unit(script, token, behind)):
            return Unit(UnitKind.SQL, script[at : min(end, token.start)], at)
        if token.text == ";" or token.kind is Kind.RUN:
            return Unit(UnitKind.SQL, script[at : token.start + 1], at)
        behind = token.end
    return Unit(UnitKind.SQL, script[at:end], at)


@lru_cache(1)
def _empty_lines(script: str) -> list[int]:
    """Return where the line ends are that an empty line follows."""
    return [found.start() for found in _EMPTY.finditer(script)]


def _begins_unit(script: str, token: Token, behind: int) -> bool:
    """Return whether a token is the first of its line, and begins a block or a call. behind: the token before it."""
    if token.word not in ("BEGIN", "DECLARE", "EXEC"):
        return False
    _, line, blank = script[behind : token.start].rpartition("\n")
    return bool(line) and not blank.strip()


def _continued(script: str, at: int) -> int:
    """Return where a line ends that may go on behind a hyphen."""
    end = _line_end(script, at)
    while script[at:end].rstrip().endswith("-") and end < len(script):
        at, end = end, _line_end(script, end + 1)
    return end


def _line_end(script: str, at: int) -> int:
    end = script.find("\n", at)
    return len(script) if end < 0 else end
