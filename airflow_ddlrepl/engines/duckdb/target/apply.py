"""This module runs a program at a DuckDB file, in one transaction with the position and the tables' states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from airflow_ddlrepl.adapt.program.program import NO_TABLE, Program, ProgramStep, Slice
from airflow_ddlrepl.engines.duckdb.connection.database import passing
from airflow_ddlrepl.engines.duckdb.connection.tables_there import defaults_there, name_beside
from airflow_ddlrepl.engines.duckdb.ddl.partition_views import views_renewed
from airflow_ddlrepl.engines.duckdb.merge.merge import merge
from airflow_ddlrepl.engines.duckdb.merge.retained_rows import RETAINED
from airflow_ddlrepl.engines.duckdb.merge.stage import Staged
from airflow_ddlrepl.engines.duckdb.target.discarded_rows import clear, replace_rows
from airflow_ddlrepl.engines.duckdb.target.state import advance, write_records, write_table_states
from airflow_ddlrepl.engines.duckdb_sql.quoting import qualified, quote
from airflow_ddlrepl.engines.target_state import Applied, Fence, StagedSlice
from airflow_ddlrepl.engines.transactional.program_pass import ProgramPass
from airflow_ddlrepl.errors import AlterRefused
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.record import Record

if TYPE_CHECKING:
    import duckdb
    from duckdb import DuckDBPyConnection as Connection


def run_program(
    connection: Connection,
    channel: str,
    program: Program,
    slices: Sequence[StagedSlice],
    records: Sequence[Record],
    fence: Fence,
) -> Applied:
    """Apply a whole program in the open transaction, and move the position as it says.

    Raises Fenced LCK-102, RowsRefused INT-… when rows don't fit, AlterRefused ADP-130 when a statement is refused.
    """
    advance(connection, channel, *program.move, fence)
    run = _Run(connection, channel, list(slices))
    with views_renewed(connection, channel) if program.steps else nullcontext():
        run.run(program)
        _write_states(connection, channel, program)
    write_records(connection, channel, records)
    reach("integrate.transaction")
    return run.applied


def _write_states(connection: Connection, channel: str, program: Program) -> None:
    touched = {step.table_id for step in program.steps}
    states = {i: one for i, one in program.table_states.items() if i in touched}
    gone = touched - program.table_states.keys() - {NO_TABLE}
    write_table_states(connection, channel, {**states, **program.past_refreshes, **program.ends_as}, gone)


class _Run(ProgramPass):
    """A run is one pass through a program.

    DuckDB does not commit an ALTER of a table whose rows the transaction has updated or deleted before. So a table with
    such rows (`_written`) becomes a new one of its name first; a new one (`_new`) may be changed in any order. Both go
    by the names of now: a table of the source may take over the one that a dropped table has left.
    """

    def __init__(self, connection: Connection, channel: str, slices: Sequence[StagedSlice]) -> None:
        super().__init__(slices)
        self.connection, self.channel = connection, channel
        self._written: set[TableName] = set()
        self._new: set[TableName] = set()

    def merge(self, piece: Slice, part: Sequence[Staged]) -> None:
        self._discard(piece, part)
        self.applied.rows.update(merge(self.connection, piece.name, piece.target, part))
        if any(map(_changes_rows, part)):
            self._written.add(piece.name)

    def _discard(self, piece: Slice, part: Sequence[Staged]) -> None:
        """Store the rows that do not fit the table's columns, and tell of them and of values that became NULL."""
        for left in (one.left_out for one in part):
            replace_rows(self.connection, self.channel, piece.table_id, left.settled, left.discarded)
            self.applied.discarded.update({f"{piece.name}:{why}": count for why, count in left.warnings.items()})

    def truncate(self, steps: Sequence[ProgramStep]) -> None:
        if steps:
            clear(self.connection, self.channel, [step.table_id for step in steps])
        for step in steps:
            assert step.before is not None
            self.alter(step, RETAINED.truncating(step, step.before))

    def alter(self, step: ProgramStep, statements: Sequence[str]) -> None:
        import duckdb

        if not statements:
            return
        kinds = [self._kind(step, statement) for statement in statements]
        written = [kind in (duckdb.StatementType.UPDATE, duckdb.StatementType.DELETE) for kind in kinds]
        altered = [kind == duckdb.StatementType.ALTER for kind in kinds]
        is_late = any(alters and any(written[:place]) for place, alters in enumerate(altered))
        name, after = _names(step)
        if any(statement.startswith("CREATE TABLE") for statement in statements):
            self._new.add(name)
        elif name not in self._new and (is_late or (any(altered) and name in self._written)):
            self._make_new(step, name)
            self._new.add(name)
        for statement in statements:
            self._execute(step, statement)
        if any(written):
            self._written.add(name)
        for names in (self._new, self._written):
            if name != after and name in names:
                names.remove(name)
                names.update({after} if after else ())

    def _kind(self, step: ProgramStep, statement: str) -> duckdb.StatementType:
        import duckdb

        with _refusals(step, statement):
            return duckdb.extract_statements(statement)[0].type

    def _make_new(self, step: ProgramStep, name: TableName) -> None:
        aside = name_beside(name)
        defaults = [
            f"ALTER TABLE {qualified(name)} ALTER COLUMN {quote(column)} SET DEFAULT {default}"
            for column, default in defaults_there(self.connection, name).items()
        ]
        for statement in (
            f"ALTER TABLE {qualified(name)} RENAME TO {quote(aside.name)}",
            f"CREATE TABLE {qualified(name)} AS FROM {qualified(aside)}",
            f"DROP TABLE {qualified(aside)}",
            *defaults,
        ):
            with _refusals(step, statement):
                self.connection.execute(statement)

    def _execute(self, step: ProgramStep, statement: str) -> None:
        with _refusals(step, statement):
            self.connection.execute(statement)
        self.note(step, statement)


def _changes_rows(part: Staged) -> bool:
    """Return whether rows that are there may be updated or deleted."""
    may_replace = part.is_resilient or bool(part.deletion)
    return any(count and (kind != "inserts" or may_replace) for kind, count in part.counts.items())


def _names(step: ProgramStep) -> tuple[TableName, TableName | None]:
    """Return the name of the table that a step changes, and the one that it has then; None: it is gone."""
    known = step.before or step.after
    assert known is not None, step
    after = known if step.truncates else step.after
    return known.name, after.name if after is not None else None


@contextmanager
def _refusals(step: ProgramStep, statement: str) -> Iterator[None]:
    """Raise AlterRefused ADP-130 for what DuckDB refuses inside the `with`."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        if (known := passing(error)) is not None:
            raise known.about(table=step.plan.name if step.plan else None) from None
        raise AlterRefused(
            f"the target refuses to run {statement}: {' '.join(str(error).split())}",
            on=(step.table_id, step.key),
            by_rows=isinstance(error, duckdb.ConversionException | duckdb.ConstraintException),
            code="ADP-130",
            table=step.plan.name if step.plan else None,
            at=step.key,
            hint="everything of this run was rolled back; an index or a view of the table may be in the way",
        ) from None
