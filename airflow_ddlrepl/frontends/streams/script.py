"""This module splits a SQL script into what SQL*Plus runs one by one: blocks, statements, its own lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from airflow_ddlrepl.frontends.streams.vocabulary import SQL, SQLPLUS

_TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?\*/|//[^\n]*|^[ \t]*\#[^\n]*)
    |(?P<text>[nN]?[qQ]'\[.*?\]'|[nN]?[qQ]'\{.*?\}'|[nN]?[qQ]'\(.*?\)'|[nN]?[qQ]'<.*?>'
    |[nN]?[qQ]'!.*?!'|[nN]?[qQ]'\|.*?\|'|[nN]?[qQ]'~.*?~'|[nN]?[qQ]'\^.*?\^'|[nN]?[qQ]'\#.*?\#'|[nN]?[qQ]'".*?"'|[nN]?'(?:[^']|'')*')
    |(?P<quoted>"[^"\n]*")|(?P<word>[A-Za-z][\w$\#]*)|(?P<run>^[ \t]*/[ \t]*$)|(?P<space>\s+)
    |(?P<open>'|"|/\*)|(?P<sign>=>|:=|\|\||<<|>>|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_WORD = re.compile(r"@@?|[A-Za-z][\w$#]*|<<|/|\S")
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


class Token(NamedTuple):
    """A token of a block; comments and blanks are none. at: its first character in the script."""

    kind: str
    text: str
    at: int

    @property
    def upper(self) -> str:
        """Return the text in upper case; that of a text or a name in quotes is no word."""
        return self.text.upper() if self.kind in ("word", "sign") else ""


class Unit(NamedTuple):
    """A unit is a part of a script that is run at once. at: its first character. problem: what is wrong with it."""

    kind: UnitKind
    text: str
    at: int
    problem: str = ""


def units(script: str) -> Iterator[Unit]:
    """Yield the units of a script."""
    at = 0
    while (at := _blank(script, at)) < len(script):
        word = _WORD.match(script, at)
        name = word[0].upper() if word else script[at]
        if name in ("BEGIN", "DECLARE", "<<"):
            unit = _block(script, at)
        elif name in ("EXEC", "EXECUTE"):
            unit = _executed(script, at)
        elif _STORED.match(script, at):
            unit = _stored(script, at)
        elif name in SQLPLUS or name.startswith("@"):
            unit = Unit(UnitKind.SQLPLUS, script[at : _continued(script, at)], at)
        elif name in SQL:
            unit = _statement(script, at)
        else:
            unit = Unit(UnitKind.UNKNOWN, script[at : _line_end(script, at)], at)
        at += max(len(unit.text), 1)
        if unit.kind is not UnitKind.SQLPLUS or unit.text.strip() != "/":
            yield unit


def tokens(text: str, at: int = 0) -> Iterator[Token]:
    """Yield the tokens of a text from a character on, without comments."""
    for found in _TOKEN.finditer(text, at):
        kind = found.lastgroup or ""
        if kind not in ("comment", "space"):
            yield Token(kind, found[0], found.start())


def _blank(script: str, at: int) -> int:
    """Return where the next unit begins: behind blanks, comments, lines that run a block, and signs alone."""
    for found in _TOKEN.finditer(script, at):
        if found.lastgroup not in ("comment", "space", "run") and found[0] not in (";", "/"):
            return found.start()
    return len(script)


def _block(script: str, at: int) -> Unit:
    depth, before = 0, ""
    for token in tokens(script, at):
        word = token.upper
        if token.kind == "run" and depth == 0:
            return Unit(UnitKind.BLOCK, script[at : token.at], at, "the block has no BEGIN … END;")
        if token.kind == "open":
            what = "comment" if token.text == "/*" else "quote"
            return Unit(UnitKind.BLOCK, script[at:], at, f"a {what} is not closed{_where(script, token.at)}")
        if word in _OPENING and before != "END":
            depth += 1
        elif word == "END":
            depth -= 1
        elif word == ";" and depth == 0 and _is_ended(script, at, token.at):
            return Unit(UnitKind.BLOCK, script[at : token.at + 1], at)
        before = word
    return Unit(UnitKind.BLOCK, script[at:], at, "its BEGIN has no END;")


def _is_ended(script: str, at: int, end: int) -> bool:
    """Return whether the words before a semicolon are END and perhaps a name: declarations end otherwise."""
    words = [token.upper or token.kind for token in tokens(script[at:end])][-2:]
    return "END" in words


def _where(script: str, at: int) -> str:
    return f" (line {script.count(chr(10), 0, at) + 1})"


def _executed(script: str, at: int) -> Unit:
    """Return a call behind EXEC: a line, with those that follow a hyphen or an open parenthesis, as a block."""
    end = _continued(script, at)
    while end < len(script) and script[at:end].count("(") > script[at:end].count(")"):
        following = _line_end(script, end + 1)
        if following == end:
            break
        end = following
    return Unit(UnitKind.BLOCK, _HYPHEN.sub(" ", script[at:end]), at)


def _stored(script: str, at: int) -> Unit:
    """Return a statement that stores a program, up to a line with a slash alone, or a type, which may end before."""
    found = _STORED.match(script, at)
    is_type = found is not None and found[1].upper() == "TYPE"
    depth = 0
    for token in tokens(script, at):
        depth += (token.text == "(") - (token.text == ")")
        if token.kind == "run" or (is_type and depth == 0 and _begins_unit(script, token)):
            return Unit(UnitKind.STORED, script[at : token.at], at)
        if is_type and depth == 0 and token.text == ";":
            return Unit(UnitKind.STORED, script[at : token.at + 1], at)
    return Unit(UnitKind.STORED, script[at:], at)


def _statement(script: str, at: int) -> Unit:
    """Return a statement of SQL: up to its semicolon, a line with a slash alone, or an empty line."""
    empty = _EMPTY.search(script, at)
    end = empty.start() if empty else len(script)
    for token in tokens(script, at):
        if token.at >= end or (token.at > at and _begins_unit(script, token)):
            return Unit(UnitKind.SQL, script[at : min(end, token.at)], at)
        if token.text == ";" or token.kind == "run":
            return Unit(UnitKind.SQL, script[at : token.at + 1], at)
    return Unit(UnitKind.SQL, script[at:end], at)


def _begins_unit(script: str, token: Token) -> bool:
    """Return whether a token is the first of its line, and begins a block or a call."""
    return (
        token.upper in ("BEGIN", "DECLARE", "EXEC")
        and not script[script.rfind("\n", 0, token.at) + 1 : token.at].strip()
    )


def _continued(script: str, at: int) -> int:
    """Return where a line ends that may go on behind a hyphen."""
    end = _line_end(script, at)
    while script[at:end].rstrip().endswith("-") and end < len(script):
        end = _line_end(script, end + 1)
    return end


def _line_end(script: str, at: int) -> int:
    end = script.find("\n", at)
    return len(script) if end < 0 else end
