"""This module decides whether INCLUDE and EXCLUDE clauses are true for a statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from airflow_ddlrepl.goldengate.parameters.clauses import Clause, DdlScope
from airflow_ddlrepl.goldengate.parameters.names import NameIndex
from airflow_ddlrepl.goldengate.parameters.prepared import prepared_once
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


def includes_none(why: str) -> bool:
    """Is this the reason of a statement that no INCLUDE clause is true for?"""
    return why == _NONE_IS_TRUE.why


def nearest_clause(include: Sequence[Clause], record: Record) -> str:
    """Return the INCLUDE clause of which the fewest options are not true for a statement, and which; empty: none is."""
    found: list[tuple[int, str]] = []
    for number, clause in enumerate(include):
        options = [*_false_options(clause, record)]
        if not options:
            return ""
        found.append((len(options), f"include[{number}], {described(clause)}: {'; '.join(options)}"))
    return min(found, key=lambda one: one[0], default=(0, ""))[1]


def _false_options(clause: Clause, record: Record) -> Iterator[str]:
    """Yield the options of a clause that are not true for a statement, each with what the statement is."""
    is_there, is_true = zip(*OPTIONS, strict=True)
    held = [not there(clause) or true(clause, record) for there, true in zip(is_there, is_true, strict=True)]
    scope, optype, objtype, *texts = held
    if not scope:
        yield f"the scope is {record.scope}"
    if not optype:
        yield f"the operation is {record.operation or 'not known'}"
    if not objtype:
        yield f"the type is {record.object_type or 'not known'}"
    if clause.objname and not _is_named(clause.objname, record):
        yield f"the object is {record.base or 'not known'}"
    if not all(texts):
        yield "the text lacks what INSTR… looks for"


def _is_named(pattern: str, record: Record) -> bool:
    names = [record.base, record.derived if record.is_rename else None]
    index = NameIndex([pattern])
    return any(index.matching(name) for name in names if name is not None)


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
