"""This module decides whether INCLUDE and EXCLUDE clauses are true for a statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from airflow_ddlrepl.config.base.name_pattern import matches, split_name_pattern
from airflow_ddlrepl.config.goldengate.clauses import Clause, DdlScope
from airflow_ddlrepl.goldengate.record import Record


class Decision(NamedTuple):
    """A decision says whether a statement is included, and which clause, or none, has decided that."""

    is_included: bool
    why: str


OPTIONS: tuple[tuple[str, Callable[[Clause], object], Callable[[Clause, Record], bool]], ...] = (
    ("scope", lambda c: c.scope is not DdlScope.ALL, lambda c, r: c.scope is r.scope),
    ("OPTYPE", lambda c: c.optype, lambda c, r: c.optype == r.operation or (c.optype == "RENAME" and r.is_rename)),
    ("OBJTYPE", lambda c: c.objtype, lambda c, r: c.objtype == r.object_type),
    ("OBJNAME", lambda c: c.objname, lambda c, r: _is_named(str(c.objname), r)),
    ("INSTR", lambda c: c.instr, lambda c, r: str(c.instr).lower() in r.command.lower()),
    ("INSTRWORDS", lambda c: c.instr_words, lambda c, r: _has_words(c.instr_words or (), r.command)),
    ("INSTRCOMMENTS", lambda c: c.instr_comments, lambda c, r: _in_any(str(c.instr_comments), r.comments)),
    (
        "INSTRCOMMENTSWORDS",
        lambda c: c.instr_comments_words,
        lambda c, r: _has_words(c.instr_comments_words or (), " ".join(r.comments)),
    ),
)
"""The options of a clause: its name, whether a clause has it, and whether it is true for a record."""


def is_true(clause: Clause, record: Record) -> bool:
    """Is each option of the clause true for the statement?"""
    return all(test(clause, record) for _, is_there, test in OPTIONS if is_there(clause))


def decide(include: Sequence[Clause], exclude: Sequence[Clause], record: Record) -> Decision:
    """Decide by all clauses: a true EXCLUDE discards; else one INCLUDE has to be true, if there are any."""
    for number, clause in enumerate(exclude):
        if is_true(clause, record):
            return Decision(False, f"exclude[{number}] is true: {described(clause)}")
    for number, clause in enumerate(include):
        if is_true(clause, record):
            return Decision(True, f"include[{number}] is true: {described(clause)}")
    return Decision(False, "no include clause is true") if include else Decision(True, "there is no include clause")


def described(clause: Clause) -> str:
    """Return a clause as a parameter file writes it, such as `MAPPED OPTYPE CREATE`."""
    found = [] if clause.scope is DdlScope.ALL else [clause.scope.value]
    for name, value in (("OPTYPE", clause.optype), ("OBJTYPE", clause.objtype), ("OBJNAME", clause.objname)):
        found += [f"{name} {value}"] if value else []
    for name, text in (("INSTR", clause.instr), ("INSTRCOMMENTS", clause.instr_comments)):
        found += [f"{name} '{text}'"] if text else []
    for name, words in (("INSTRWORDS", clause.instr_words), ("INSTRCOMMENTSWORDS", clause.instr_comments_words)):
        found += [f"{name} '{' '.join(words)}'"] if words else []
    return " ".join(found) or "ALL"


def _is_named(pattern: str, record: Record) -> bool:
    names = (record.base, record.derived if record.is_rename else None)
    *schema, own = split_name_pattern(pattern)
    return any(
        name is not None and matches(own, name.name) and all(matches(one, name.schema) for one in schema)
        for name in names
    )


def _in_any(text: str, comments: Sequence[str]) -> bool:
    return any(text.lower() in comment.lower() for comment in comments)


def _has_words(words: Sequence[str], text: str) -> bool:
    return all(_word(word).search(text) for word in words)


@lru_cache(4096)
def _word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
