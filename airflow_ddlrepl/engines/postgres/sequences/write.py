"""This module brings a target's sequences, and the defaults that draw from them, to what a plan says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from airflow_ddlrepl.engines.abilities.sequences import DefaultStep, SequencePlan, SequenceStep, SequencesWritten
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import CONTENTION, passing
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.ddl.types import create_schema
from airflow_ddlrepl.engines.postgres.target import state, tracked_sequences
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.errors import DdlReplError, TargetError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.sequence import ColumnPlace, SequenceDefinition, SequenceValue


def write(connection: Connection[Any], channel: str, plan: SequencePlan, fence: Fence) -> SequencesWritten:
    """Do what a plan says in one transaction; what is refused of one sequence keeps no other from it.

    A lock that can't be had passes as psycopg's error (`patiently`). Raises Fenced LCK-102.
    """
    with connection.transaction(), connection.cursor() as cursor:
        state.hold(cursor, channel, epoch=fence.epoch, token=fence.token)
        found = _Writing(cursor).run(plan)
        tracked_sequences.forget(cursor, channel, plan.forgets)
        tracked_sequences.remember(cursor, channel, found.done)
        reach("integrate.sequences")
    return SequencesWritten(tuple(found.statements), found.values, tuple(found.refused), tuple(found.warnings))


class _Writing:
    """This object does the steps of a plan in the open transaction, each on its own."""

    def __init__(self, cursor: Any) -> None:
        self.cursor = cursor
        self.statements: list[str] = []
        self.refused: list[DdlReplError] = []
        self.warnings: list[str] = []
        self.done: list[SequenceStep] = []
        self.values = 0

    def run(self, plan: SequencePlan) -> _Writing:
        for one in plan.defaults:
            if not one.pieces:
                self._default(one)
        shaped = [step for step in plan.sequences if not step.is_about_value]
        names = self._out_of_the_way(shaped)
        for step in shaped:
            with self._one_sequence(step.source):
                self._shape(step, names.get(step.id, step.before))
                self._set(step)
                self.done.append(step)
        self._set_all([step for step in plan.sequences if step.is_about_value])
        for one in plan.defaults:
            if one.pieces:
                self._default(one)
        return self

    def _out_of_the_way(self, steps: Sequence[SequenceStep]) -> dict[int, TableName]:
        """Rename sequences whose name another one gets; return their names of now, by id."""
        wanted = {step.name: step.id for step in steps}
        found = {}
        for step in steps:
            if step.before is not None and wanted.get(step.before, step.id) != step.id:
                with self._one_sequence(step.source):
                    found[step.id] = self._aside(step.before, step)
        return found

    def _aside(self, name: TableName, step: SequenceStep) -> TableName:
        """Give the sequence of that name one that nobody else has, and return it."""
        between = TableName(name.schema, f"ddlrepl_sequence_{step.id}")
        if name != between:
            self._run(f"ALTER SEQUENCE {qualified(name)} RENAME TO {quote(between.name)}")
        return between

    def _shape(self, step: SequenceStep, before: TableName | None) -> None:
        """Create a sequence, or give the one called `before` its name, definition and owner."""
        name = qualified(step.name)
        if before is None:
            for statement in create_schema(step.name.schema):
                self._run(statement, is_shown=False)
            assert step.definition is not None
            self._run(f"CREATE SEQUENCE {name} {define(step.definition)}")
        else:
            if (step.changes_owner and step.owner is None) or before.schema != step.name.schema:
                self._run(f"ALTER SEQUENCE {qualified(before)} OWNED BY NONE")
            if before.schema != step.name.schema:
                for statement in create_schema(step.name.schema):
                    self._run(statement, is_shown=False)
                between = self._aside(before, step)
                self._run(f"ALTER SEQUENCE {qualified(between)} SET SCHEMA {quote(step.name.schema)}")
                before = TableName(step.name.schema, between.name)
            if before.name != step.name.name:
                self._run(f"ALTER SEQUENCE {qualified(before)} RENAME TO {quote(step.name.name)}")
            if step.definition is not None:
                assert step.value is not None
                self._run(f"ALTER SEQUENCE {name} {define(step.definition)} RESTART WITH {step.value.last}")
        if step.owner is not None and step.changes_owner:
            self._run(f"ALTER SEQUENCE {name} OWNED BY {column(step.owner)}")

    def _set_all(self, steps: Sequence[SequenceStep]) -> None:
        """Set the values of many sequences by one statement; where one is refused, one by one."""
        import psycopg

        changed = [step for step in steps if step.value is not None]
        try:
            with self.cursor.connection.transaction():
                self._set_values([(step.name, step.value) for step in changed if step.value is not None])
            self.done += steps
            self.values += len(changed)
        except psycopg.Error as error:
            if error.sqlstate in CONTENTION:
                raise
            for step in steps:
                with self._one_sequence(step.source):
                    self._set(step)
                    self.done.append(step)

    def _set(self, step: SequenceStep) -> None:
        if step.value is not None:
            self._set_values([(step.name, step.value)])
            self.values += 1

    def _set_values(self, values: Sequence[tuple[TableName, SequenceValue]]) -> None:
        if values:
            rows = ([qualified(name) for name, _ in values], *zip(*(value for _, value in values), strict=True))
            self.cursor.execute(
                "SELECT setval(s.name::regclass, s.last, s.is_called)"
                " FROM unnest(%s::text[], %s::bigint[], %s::boolean[]) AS s(name, last, is_called)",
                [list(part) for part in rows],
            )

    def _default(self, step: DefaultStep) -> None:
        table, name = qualified(step.at.table), quote(step.at.column)
        parts = (p if isinstance(p, str) else f"{literal(qualified(p)).strip()}::regclass" for p in step.pieces)
        verb = f"SET DEFAULT {''.join(parts)}" if step.pieces else "DROP DEFAULT"
        with self._one_sequence(step.at.table, is_needed=step.is_same_type):
            self._run(f"ALTER TABLE ONLY {table} ALTER COLUMN {name} {verb}")

    def _run(self, statement: str, *, is_shown: bool = True) -> None:
        self.cursor.execute(statement.encode())
        if is_shown:
            self.statements.append(statement)

    @contextmanager
    def _one_sequence(self, name: TableName, *, is_needed: bool = True) -> Iterator[None]:
        """Roll back what is done for one sequence or table, and go on, where the target refuses it."""
        import psycopg

        count = len(self.statements)
        try:
            with self.cursor.connection.transaction():
                yield
        except psycopg.Error as error:
            if error.sqlstate in CONTENTION or passing(error, "the target") is not None:
                raise
            del self.statements[count:]
            refused = _refused(name, error)
            if is_needed:
                self.refused.append(refused)
            else:
                self.warnings.append(f"{name}: {refused.message}")


def define(definition: SequenceDefinition) -> str:
    """Return the definition as CREATE SEQUENCE and ALTER SEQUENCE take it."""
    return (
        f"AS {definition.type} INCREMENT BY {definition.increment} MINVALUE {definition.minimum}"
        f" MAXVALUE {definition.maximum} START WITH {definition.start} CACHE {definition.cache}"
        f" {'CYCLE' if definition.cycles else 'NO CYCLE'}"
    )


def column(place: ColumnPlace) -> str:
    """Return a column with its table, quoted."""
    return f"{qualified(place.table)}.{quote(place.column)}"


def _refused(name: TableName, error: Any) -> TargetError:
    text = " ".join(str(error).split())
    if error.sqlstate == "42501":
        hint = "make the role of the target's location the owner of the sequence and of its table: ALTER … OWNER TO"
        return TargetError(f"the target lets us not write sequence {name}: {text}", code="TGT-132", hint=hint)
    hint = "rename or drop what is in the way at the target; the next cycle tries again. The others are written"
    return TargetError(f"the target refuses sequence {name}: {text}", code="TGT-131", hint=hint)
