"""Decide what becomes of a parameter that makes no value of an Extract or a Replicat, and of each of its arguments.

This is the one place for them: what is not known here, or is not read, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from airflow_ddlrepl.goldengate.prm.statements import Statement
from airflow_ddlrepl.goldengate.prm.vocabulary.ddl import DDL_OPTIONS
from airflow_ddlrepl.goldengate.prm.vocabulary.map_options import MAP_OPTIONS
from airflow_ddlrepl.goldengate.prm.vocabulary.options import OPTIONS, WITHOUT_ARGUMENTS, Arguments
from airflow_ddlrepl.goldengate.prm.vocabulary.parameters import (
    COMMANDS,
    ELSEWHERE,
    PARAMETERS,
    SECRET,
    WITH_LOGINS,
)
from airflow_ddlrepl.notation.import_findings import TAKEN, Entry, Fate
from airflow_ddlrepl.sql.languages import ARGUMENTS
from airflow_ddlrepl.sql.tokens import SIGN, Kind, tokens

_HARMLESS = {
    "REPERROR": re.compile(r"[\s(]*(DEFAULT2?|-?\d+)\s*,?\s*ABEND[\s)]*"),
    "REPLACEBADCHAR": re.compile(r"\s*ABORT\s*"),
    "REPLACEBADNUM": re.compile(r"\s*ABORT\s*"),
}
"""Arguments with which a parameter says what is done here anyway."""
_ANYWAY = Entry(Fate.SAFE, "what a target refuses stops its table here anyway")
_HIDDEN = (
    "is a hidden parameter of GoldenGate, and no page says what it changes: find out why it is there, or take it out"
)
_NOT_READ = "is not read: put it on a line of its own if it is a parameter, or take it out"


class Decided(NamedTuple):
    """A decision about something of a parameter. at: its character. what: how it is called; empty: as the parameter."""

    at: int
    entry: Entry
    what: str = ""


def decided(statement: Statement) -> Iterator[Decided]:
    """Yield what becomes of a known parameter and of its arguments; nothing: all of it is taken."""
    entry = harmless(statement.name, statement.text) or PARAMETERS[statement.name]
    known = OPTIONS.get(statement.name) or (Arguments(0, {}) if statement.name in WITHOUT_ARGUMENTS else None)
    found = list(_arguments(statement, known)) if known else []
    if entry.fate is not None and not (found and entry.fate is Fate.SAFE):
        yield Decided(statement.at, entry)
    yield from found


def harmless(name: str, text: str) -> Entry | None:
    """Return the entry of a parameter, or an option, whose arguments say what is done here anyway; else None."""
    pattern = _HARMLESS.get(name)
    return _ANYWAY if pattern is not None and pattern.fullmatch(text.upper()) else None


def _arguments(statement: Statement, known: Arguments) -> Iterator[Decided]:
    """Yield what becomes of the arguments: options are not taken, and what is none is not read."""
    values, depth, is_read = known.values, 0, True
    for kind, _, text, start, _ in tokens(statement.text, ARGUMENTS):
        word, at = text.upper(), statement.start + start
        if kind is Kind.OPEN or text == ",":
            continue
        if kind is SIGN:
            is_value = word == "(" and depth == 0
            depth += (word == "(") - (word == ")")
            values -= is_value
            if is_value and values < 0 and is_read:
                is_read = False
                yield _unread(statement, at, "(…)")
        elif depth > 0:
            inside = known.options.get(word)
            if inside is not None and inside.entry.fate is Fate.REFUSED:
                yield Decided(at, inside.entry, f"{statement.name} {word}")
        elif (option := known.options.get(word)) is not None:
            values, is_read = option.values, True
            if option.entry != TAKEN:
                yield Decided(at, option.entry, f"{statement.name} {word}")
        elif values > 0:
            values -= 1
        elif is_read:
            is_read = False
            yield _unread(statement, at, text)


def _unread(statement: Statement, at: int, text: str) -> Decided:
    is_hidden = text.startswith("_")
    is_shown = is_hidden or statement.name not in SECRET | WITH_LOGINS
    shown = text[:40] if is_shown else "…"
    return Decided(at, Entry(Fate.REFUSED, _HIDDEN if is_hidden else _NOT_READ), f"{statement.name} {shown}")


def cause(name: str) -> str:
    """Return why a name is no parameter where that is known; else nothing."""
    if name.startswith("_"):
        return _HIDDEN
    if name in COMMANDS:
        return "is a command of GGSCI or the Admin Client, and no parameter: take it out of the file"
    if name in ELSEWHERE:
        return "is of another platform or process of GoldenGate: find out what it changes, and take it out"
    if re.search(r"[<>%{}\[\]]", name):
        return "is a placeholder, which has to be filled in"
    owner = next((one for one, known in OPTIONS.items() if name in known.options), "")
    owner = owner or ("DDLOPTIONS" if name in DDL_OPTIONS else "TABLE or MAP" if name in MAP_OPTIONS else "")
    return f"is an option of {owner}, and no parameter: write it there" if owner else ""
