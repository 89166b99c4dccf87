"""Explain what an Extract and a Replicat do with a DDL statement, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_ddlrepl.cli.command import Side
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.goldengate.ddl_errors import Handling
from airflow_ddlrepl.goldengate.extract import extract
from airflow_ddlrepl.goldengate.filter_clauses import includes_none, nearest_clause
from airflow_ddlrepl.goldengate.parameters.clauses import Filters
from airflow_ddlrepl.goldengate.parameters.extract import ExtractParameters
from airflow_ddlrepl.goldengate.parameters.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.prm.vocabulary.error_numbers import sqlstate
from airflow_ddlrepl.goldengate.record import Evaluation, Outcome, Record, Step
from airflow_ddlrepl.goldengate.replicat import answered, replicate
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.import_findings import Fate
from airflow_ddlrepl.sql.dialect import Dialect, Dialects
from airflow_ddlrepl.sql.names import read
from airflow_ddlrepl.sql.objects import base_and_derived
from airflow_ddlrepl.visible import as_lines

ASSUMED = (
    "the statement does not name the table; it is taken for {}, which only patterns for all tables of this schema list."
    " Write ON and the table behind DROP INDEX to say which one it is"
)


@dataclass(frozen=True, slots=True)
class Explained:
    """An explained statement is its evaluation by one side. number: of several, from 1 on; of: how many.

    nearest: the clause that comes nearest to a statement which none includes; empty: one does.
    """

    side: Side
    number: int
    of: int
    evaluation: Evaluation
    nearest: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the evaluation as JSON values."""
        record = self.evaluation.record
        return {
            "side": self.side,
            "statement": record.raw,
            "outcome": self.evaluation.outcome,
            "why": self.evaluation.why,
            "nearest": self.nearest or None,
            "scope": record.scope,
            "operation": record.operation,
            "object_type": record.object_type,
            "base": None if record.base is None else str(record.base),
            "derived": None if record.derived is None else str(record.derived),
            "comments": list(record.comments),
            "text": record.text,
            "steps": [step._asdict() for step in self.evaluation.steps],
        }

    def lines(self) -> Iterator[str]:
        """Yield the evaluation as lines for a person; a stage's text is shown where it has changed it."""
        of = f" ({self.number} of {self.of})" if self.of > 1 else ""
        yield f"{self.side.capitalize()}{of}: {_one_line(self.evaluation.record.raw)}"
        text = self.evaluation.record.raw
        for step in self.evaluation.steps:
            yield f"  {step.number:2} {step.stage:<23}{step.why}{_ending(step)}"
            if step.text != text:
                yield f"     {'':<23}> {_one_line(step.text)}"
            text = step.text or text
        if self.nearest:
            yield f"     {'nearest clause':<23}{self.nearest}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """An explanation is each evaluation of a statement, Extract's before those of the Replicat.

    refused: what of the parameter files could not be taken: the statement is evaluated without it. assumed: in words,
    the table of an index or trigger whose statement does not name it; empty: it does.
    """

    evaluations: tuple[Explained, ...]
    refused: tuple[str, ...] = ()
    assumed: str = ""

    def to_json(self) -> list[dict[str, Any]]:
        """Return the evaluations as JSON values; what was refused or assumed stands behind them."""
        behind = [*({"refused": one} for one in self.refused), *([{"assumed": self.assumed}] if self.assumed else [])]
        return [*(one.to_json() for one in self.evaluations), *behind]

    def text(self) -> str:
        """Return the evaluations as text for a person; what was refused or assumed stands before them."""
        head = [f"refused in the files: {len(self.refused)}; what follows is without it"] if self.refused else []
        lines = (line for one in self.evaluations for line in one.lines())
        assumed = [f"assumed: {self.assumed}"] if self.assumed else []
        return as_lines([*head, *(f"  {one}" for one in self.refused), *assumed, *lines])


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a question are the parameter files of the sides; a side without a file takes every statement."""

    extract: Path | None
    replicat: Path | None
    side: Side | None

    def refused(self) -> Iterator[str]:
        """Yield what of the files is not in the parameters, with its places."""
        from airflow_ddlrepl.goldengate.prm.importing import read_parameter_file  # loads lark

        for path in (one for one in (self.extract, self.replicat) if one is not None):
            for found in read_parameter_file(path).findings:
                if found.fate is Fate.REFUSED:
                    yield f"{found.place(str(path))}: {found.what}: {found.why}"

    def parameters(self) -> tuple[ExtractParameters | None, ReplicatParameters | None]:
        """Return the parameters of both sides, None for one that isn't asked.

        Raises ConfigError DDL-101 when no side is named, and as the reader of the files does.
        """
        if self.side is None and self.extract is None and self.replicat is None:
            hint = "give --extract FILE.prm, --replicat FILE.prm or both; or --side for parameters that take everything"
            raise ConfigError("there is nothing to evaluate the statement by", code="DDL-101", hint=hint)
        from airflow_ddlrepl.goldengate.prm.importing import read_extract, read_replicat  # loads lark

        source = read_extract(self.extract) if self.extract else None
        target = read_replicat(self.replicat) if self.replicat else None
        if self.side is Side.EXTRACT:
            return source or ExtractParameters(ddl=Filters(), tables=("*",)), None
        if self.side is Side.REPLICAT:
            return None, target or ReplicatParameters()
        return source, target


def record_of(statement: str, dialects: str, schema: str) -> Record:
    """Return a typed statement. dialects: its own, and behind a colon the target's. Raises ConfigError DDL-105.

    DROP INDEX may say ON and a table behind it in each dialect: it does not belong to the text where the dialect's has
    none.
    """
    try:
        source, target = Dialects.read(dialects)
    except ValueError:
        hint = f"{', '.join(Dialect)}; the target's, where it is another one, behind a colon: postgres:mysql"
        raise ConfigError(f"--dialect {dialects} names no dialect that is known", code="DDL-105", hint=hint) from None
    found, known = read(statement, source), None
    if source is not Dialect.MYSQL and (found.operation, found.object_type) == ("DROP", "INDEX") and found.base:
        known = TableName(found.base.schema or schema, found.base.name)
        statement = f"{statement[: found.objects[-1].end]}{statement[found.base.end :]}"
    return Record(statement, source, schema, into=target, known_base=known)


def _assumed(record: Record) -> TableName | None:
    """Return a table that no pattern but one for all tables of the schema lists; None: the statement names its table.

    An index of PostgreSQL lies in the schema of its table.
    """
    reading = read(record.raw, record.dialect)
    base, derived = base_and_derived(reading, record.schema, record.known_base)
    if base is not None or derived is None:
        return None
    return TableName(derived.schema, f"(table of {derived.name})")


def explain(record: Record, files: Files, error: str = "") -> Explanation:
    """Evaluate a statement by the parameters of the sides; what Extract writes goes into Replicat.

    error: the code with which the target answers; empty: it runs the statement. Raises ConfigError DDL-102 for a
    text that is no statement.
    """
    if not record.raw.strip():
        raise ConfigError("the statement is empty", code="DDL-102", hint='write it in quotes: "ALTER TABLE hr.t …"')
    source, target = files.parameters()
    found: list[Explained] = []
    assumed = _assumed(record)
    record = record if assumed is None else record._replace(known_base=assumed)
    records = [record]
    if source is not None:
        found += _numbered(Side.EXTRACT, list(extract(record, source)), source.ddl)
        written = [one.evaluation for one in found if one.evaluation.outcome is Outcome.WRITTEN]
        bare = Record("", record.dialect, record.schema, into=record.into, known_base=record.known_base)
        records = [bare._replace(raw=one.record.text) for one in written]
    if target is not None:
        runs = [one for each in records for one in replicate(each, target)]
        found += _numbered(Side.REPLICAT, [_with_answers(one, error, target) for one in runs], target.ddl)
    return Explanation(tuple(found), tuple(files.refused()), "" if assumed is None else ASSUMED.format(assumed))


def _numbered(side: Side, evaluations: list[Evaluation], ddl: Filters | None) -> Iterator[Explained]:
    for number, evaluation in enumerate(evaluations, 1):
        is_left_out = evaluation.outcome is Outcome.DISCARDED and includes_none(evaluation.why)
        nearest = nearest_clause(ddl.include, evaluation.record) if is_left_out and ddl is not None else ""
        yield Explained(side, number, len(evaluations), evaluation, nearest)


def _with_answers(evaluation: Evaluation, error: str, parameters: ReplicatParameters) -> Evaluation:
    """Return the evaluation with what becomes of the target's answer: its first, and the last when it is retried."""
    if evaluation.outcome is not Outcome.RUNS:
        return evaluation
    code = (sqlstate(int(error)) or error) if error.isdecimal() and len(error) < 6 else error
    after, answer = answered(evaluation, code or None, 1, parameters)
    if answer.handling is Handling.RETRY:
        last = 1 + max(rule.max_retries for rule in parameters.errors)
        final, _ = answered(evaluation, code, last, parameters)
        after = after._replace(answers=(*after.answers, *final.answers))
    return after


def _ending(step: Step) -> str:
    return "" if step.outcome is Outcome.GOES_ON else f" -> {step.outcome}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
