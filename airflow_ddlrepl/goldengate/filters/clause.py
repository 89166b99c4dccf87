"""This module decides whether INCLUDE and EXCLUDE clauses are true for a statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from airflow_ddlrepl.config.goldengate.clauses import Clause, DdlScope
from airflow_ddlrepl.config.goldengate.names import NameIndex
from airflow_ddlrepl.config.goldengate.prepared import prepared_once
from airflow_ddlrepl.goldengate.record import Record


class Decision(NamedTuple):
    """A decision says whether a statement is included, and which clause, or none, has decided that."""

    is_included: bool
    why: str


OPTIONS: tuple[tuple[Callable[[Clause], object], Callable[[Clause, Record], bool]], ...] = (
    (lambda c: c.scope is not DdlScope.ALL, lambda c, r: c.scope is r.scope),
    (lambda c: c.optype, lambda c, r: c.optype == r.operation or (c.optype == "RENAME" and r.is_rename)),
    (lambda c: c.objtype, lambda c, r: c.objtype == r.object_type),
    (lambda c: c.instr, lambda c, r: str(c.instr).lower() in r.command.lower()),
    (lambda c: c.instr_words, lambda c, r: _has_words(c.instr_words or (), r.command)),
    (lambda c: c.instr_comments, lambda c, r: _in_any(str(c.instr_comments), r.comments)),
    (
        lambda c: c.instr_comments_words,
        lambda c, r: _has_words(c.instr_comments_words or (), " ".join(r.comments)),
    ),
)
"""The options of a clause, but for OBJNAME: whether a clause has it, and whether it is true for a record."""


class PreparedClause(NamedTuple):
    """A prepared clause is the tests of its options, but for its name, and what it decides when all are true."""

    clause: Clause
    tests: tuple[Callable[[Clause, Record], bool], ...]
    decision: Decision


class ClauseIndex:
    """A clause index finds the first clause that is true: by the statement's names, then by the other options."""

    def __init__(self, clauses: Sequence[Clause], kind: str) -> None:
        self._clauses = [
            PreparedClause(
                one,
                tuple(test for is_there, test in OPTIONS if is_there(one)),
                Decision(kind == "include", f"{kind}[{number}] is true: {described(one)}"),
            )
            for number, one in enumerate(clauses)
        ]
        self._of_any_name = [number for number, one in enumerate(clauses) if not one.objname]
        self._named = [number for number, one in enumerate(clauses) if one.objname]
        self._names = NameIndex([str(clauses[number].objname) for number in self._named])

    def first_true(self, record: Record) -> Decision | None:
        """Return what the first clause decides whose options are all true; None: none is."""
        for number in self._candidates(record):
            clause, tests, decision = self._clauses[number]
            for test in tests:
                if not test(clause, record):
                    break
            else:
                return decision
        return None

    def _candidates(self, record: Record) -> list[int]:
        if not self._named or record.base is None:
            return self._of_any_name
        found = self._names.matching(record.base)
        if record.is_rename and record.derived is not None:
            found += self._names.matching(record.derived)
        return sorted(self._of_any_name + [self._named[number] for number in found]) if found else self._of_any_name


@prepared_once
def _including(clauses: Sequence[Clause]) -> ClauseIndex:
    return ClauseIndex(clauses, "include")


@prepared_once
def _excluding(clauses: Sequence[Clause]) -> ClauseIndex:
    return ClauseIndex(clauses, "exclude")


_NO_CLAUSE = Decision(True, "there is no include clause")
_NONE_IS_TRUE = Decision(False, "no include clause is true")


def decide(include: Sequence[Clause], exclude: Sequence[Clause], record: Record) -> Decision:
    """Decide by all clauses: a true EXCLUDE discards; else one INCLUDE has to be true, if there are any."""
    if exclude and (found := _excluding(exclude).first_true(record)) is not None:
        return found
    if not include:
        return _NO_CLAUSE
    return _including(include).first_true(record) or _NONE_IS_TRUE


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


def _in_any(text: str, comments: Sequence[str]) -> bool:
    return any(text.lower() in comment.lower() for comment in comments)


def _has_words(words: Sequence[str], text: str) -> bool:
    return all(_word(word).search(text) for word in words)


@lru_cache(4096)
def _word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
