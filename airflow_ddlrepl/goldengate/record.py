"""This module defines the DDL record that goes through a pipeline, and what each stage says about it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar

from airflow_ddlrepl.goldengate.parameters.clauses import DdlScope
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.sql.dialect import OURS, Dialect
from airflow_ddlrepl.sql.names import Reading

Parameters = TypeVar("Parameters")


class Record(NamedTuple):
    """A record is a DDL statement on its way through Extract or Replicat.

    raw: the text as it was captured. text: as it is now. command: without comments, as filters search it. comments:
    their texts. schema: where names without a schema lie. base: the object that the statement is about. derived: the
    index, trigger or synonym made from it; of a rename, the old name. known_base: the table of an index or trigger,
    from the catalog, where the text does not name it. is_replicated: a Replicat has run the statement here. trandata:
    the table whose logging of whole rows is to be switched on. target: what MAP calls the base object. session_schema:
    the current schema in which the target runs the statement; empty: the one that it has. into: the target's dialect;
    None: the same. untranslatable: why the text can't be written in it; empty: it is.
    """

    raw: str
    dialect: Dialect = OURS
    schema: str = "public"
    is_replicated: bool = False
    tag: str = ""
    known_base: TableName | None = None
    text: str = ""
    command: str = ""
    comments: tuple[str, ...] = ()
    reading: Reading = Reading()
    operation: str = ""
    object_type: str = ""
    is_rename: bool = False
    base: TableName | None = None
    derived: TableName | None = None
    scope: DdlScope | None = None
    trandata: TableName | None = None
    target: TableName | None = None
    session_schema: str = ""
    into: Dialect | None = None
    untranslatable: str = ""


class Outcome(StrEnum):
    """An outcome says how it goes on behind a stage: with the next one, or not at all."""

    GOES_ON = "goes on"
    DISCARDED = "discarded"
    WRITTEN = "written"
    RUNS = "runs"


Why = str | tuple[object, ...]
"""The words of a verdict: a sentence, or one with gaps and what stands in them, which is written when it is read."""
Verdict = tuple[Record, Why, Outcome]
"""A verdict is what a stage has made of a record, why, and how it goes on."""
GOES_ON, DISCARDED, WRITTEN, RUNS = Outcome


def sentence(why: Why) -> str:
    """Return the words of a verdict as one text."""
    return why if isinstance(why, str) else str(why[0]).format(*why[1:])


class Stage(NamedTuple, Generic[Parameters]):
    """A stage is one step of a pipeline: it looks at a record and the parameters, and gives a verdict."""

    name: str
    run: Callable[[Record, Parameters], Verdict]


class Step(NamedTuple):
    """A step is one stage's verdict about a record, with the statement's text behind it."""

    number: int
    stage: str
    why: str
    outcome: Outcome
    text: str


class Evaluation(NamedTuple):
    """An evaluation is the way of one record through a pipeline: what became of it, and each stage's verdict.

    stages: those of the pipeline, in order. answers: steps about what the target has answered.
    """

    record: Record
    outcome: Outcome
    stages: tuple[Stage[Any], ...]
    verdicts: tuple[Verdict, ...]
    answers: tuple[Step, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return each step, with its verdict in words."""
        found = enumerate(zip(self.stages, self.verdicts, strict=False), 1)
        own = (Step(number, of.name, sentence(why), end, record.text) for number, (of, (record, why, end)) in found)
        return (*own, *self.answers)

    @property
    def why(self) -> str:
        """Return the last verdict, which says why the record is discarded when it is."""
        return self.answers[-1].why if self.answers else sentence(self.verdicts[-1][1])


def evaluate(record: Record, parameters: Parameters, stages: tuple[Stage[Parameters], ...]) -> Evaluation:
    """Send a record through the stages of a pipeline, up to the one that ends it."""
    verdicts: list[Verdict] = []
    outcome = GOES_ON
    for _, run in stages:
        verdict = run(record, parameters)
        verdicts.append(verdict)
        record, _, outcome = verdict
        if outcome is not GOES_ON:
            break
    return Evaluation(record, outcome, stages, tuple(verdicts))
