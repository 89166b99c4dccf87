"""This module runs a program at a PostgreSQL target, in one transaction.

It merges staged rows and alters tables in log order.
The target's position and the shapes of its tables are written in that same transaction: after
a crash either everything of a program is there or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from airflow_ddlrepl.adapt.plan.ddl_replay import unlike
from airflow_ddlrepl.adapt.plan.refused_alter import MEND
from airflow_ddlrepl.adapt.plan_model import Executed, Expected, StepKind, TablePlan
from airflow_ddlrepl.adapt.program.program import NO_TABLE, Program, ProgramStep
from airflow_ddlrepl.engines.postgres.catalog.object_names import name_parts
from airflow_ddlrepl.engines.postgres.catalog.own_partitions import refuse_drop_of_others
from airflow_ddlrepl.engines.postgres.catalog.server_facts import ServerFacts
from airflow_ddlrepl.engines.postgres.connection.conditions import within
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.driver import Cursor
from airflow_ddlrepl.engines.postgres.connection.errors import passing
from airflow_ddlrepl.engines.postgres.connection.lock_retry import LOCK_TIMEOUT, limit, patiently
from airflow_ddlrepl.engines.postgres.ddl.refused_statement import alter_refused
from airflow_ddlrepl.engines.postgres.merge.conflicts import key_texts, resolve
from airflow_ddlrepl.engines.postgres.merge.constraints import Session, note_heirs, prepare_session, rows_of
from airflow_ddlrepl.engines.postgres.merge.copy_arrow import require_rows
from airflow_ddlrepl.engines.postgres.merge.merge import PipelineFailed, delete_all, merge, pipeline, truncate
from airflow_ddlrepl.engines.postgres.merge.own_triggers import note_silent
from airflow_ddlrepl.engines.postgres.merge.staging_tables import Staged
from airflow_ddlrepl.engines.postgres.merge.statements import mark_all_deleted, note_truncate
from airflow_ddlrepl.engines.postgres.owners.of_programs import refuse_program_of_strangers
from airflow_ddlrepl.engines.postgres.sessions.replication_origin import UNMARKED, Origin, marked
from airflow_ddlrepl.engines.postgres.sessions.session_names import session_name
from airflow_ddlrepl.engines.postgres.target.conflict_counts import count_conflicts
from airflow_ddlrepl.engines.postgres.target.discarded_rows import clear, remove_rows, replace_rows
from airflow_ddlrepl.engines.postgres.target.index_rebuild import index_again, own_indexes
from airflow_ddlrepl.engines.postgres.target.lost_session import surviving
from airflow_ddlrepl.engines.postgres.target.outbox import write_records
from airflow_ddlrepl.engines.postgres.target.release_sequences import release
from airflow_ddlrepl.engines.postgres.target.state import advance, write_table_states
from airflow_ddlrepl.engines.postgres.target.tracked_sequences import has_any
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.engines.target_state import Applied, Fence, StagedSlice
from airflow_ddlrepl.errors import AlterRefused, KeyTaken, TargetError, identified
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.record import Record
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.model.target_columns import deletion_columns, history_columns, retains_rows

MANY = 8  # rows of so many tables are sent without waiting for each table's


@dataclass(frozen=True)
class Place:
    """A place is where a program runs: one channel's tables in one database.

    lock_timeout: seconds that one try waits for one lock. trusted: roles that may own what the tables use.
    """

    dsn: str = field(repr=False)
    channel: str
    lock_timeout: float = LOCK_TIMEOUT
    trusted: Collection[str] = ()


def run_program(
    place: Place,
    program: Program,
    slices: Sequence[StagedSlice],
    records: Sequence[Record],
    fence: Fence,
) -> Applied:
    """Apply a whole program and move the position as it says (`Program.move`), or do nothing.

    records: what the repository has to know of it; they are left at the target for `flow.recording`.
    Raises Fenced LCK-102 when another run moved the target, TargetError INT-… when rows don't fit,
    AlterRefused ADP-130 when the target refuses a statement, TGT-110 when a lock can't be had.
    """

    dsn, channel = place.dsn, place.channel

    def once(origin: Origin, *, is_watched: bool = False, is_piped: bool = False) -> Applied:
        connection = origin.connection
        with connection.transaction(), connection.cursor() as cursor:
            advance(cursor, channel, *program.move, epoch=fence.epoch, token=fence.token)
            refuse_program_of_strangers(cursor, program, [one.piece for one in slices], place.trusted)
            require_rows(cursor, [name for piece in slices for name in _names(piece)])
            run = _Run(cursor, channel, list(slices), prepare_session(cursor, is_watched=is_watched))
            touched = sorted({name for piece in slices for name in _touched(piece)})
            note_silent(cursor, touched, run.session)
            note_heirs(cursor, touched, run.session)
            with pipeline(cursor, run.session) if is_piped else nullcontext():
                for steps in program.statements:
                    run.merge_before(steps)
                    run.truncate(steps)
                    for step in steps:
                        run.step(step, _reloaded_with(step, steps))
                run.merge_rest()
            run.session.require_unchanged(cursor)
            write_table_states(cursor, channel, _changed(program), _dropped_ids(program))
            write_records(cursor, channel, records)
            origin.stamp()
            reach("integrate.transaction")
            return run.applied

    def whole(*, is_piped: bool = False) -> Applied:
        with session(dsn, application_name=session_name("integrate", channel, fence.token)) as connection:
            limit(connection, place.lock_timeout)
            with marked(connection, channel) as origin:
                alone = partial(_unchanged, once, origin, _tables(program, slices))
                work = partial(once, origin, is_piped=True) if is_piped else partial(_once_more, alone, slices)
                applied = patiently(work, connection, dsn)
            applied.warnings += [UNMARKED.format(origin.why_not)] if origin.why_not else []
            return applied

    if program.is_sent_together or _are_small(slices):
        with suppress(PipelineFailed):
            return whole(is_piped=True)
    return surviving(whole, dsn)


def _unchanged(once: Callable[..., Applied], origin: Origin, tables: set[int]) -> Applied:
    """Run a transaction; where its settings were changed it is rolled back, and the next one finds by which table.

    Rows of one table may be refused for what another one has set: so one that fails is run again and looked at, too.
    A table that is alone in its transaction, as a suspended one that is tried again, is to blame itself.
    """
    try:
        return once(origin)
    except TargetError as error:
        if error.table is not None and len(tables) == 1:
            raise
        return once(origin, is_watched=True)


def _tables(program: Program, slices: Sequence[StagedSlice]) -> set[int]:
    """Return ids of the tables that a transaction writes to."""
    return {step.table_id for step in program.steps} | {one.piece.table_id for one in slices}


def _once_more(work: Callable[[], Applied], slices: Sequence[StagedSlice]) -> Applied:
    """Run a transaction; again when a row came between the look for conflicts and the merge: it is found then."""
    try:
        return work()
    except KeyTaken:
        parts = (part for one in slices for parts in one.sections.values() for part in parts)
        if all(part.conflicts is None for part in parts):
            raise
    return work()


def _names(staged_slice: StagedSlice) -> list[str]:
    """Return the names of all staging tables of a slice; each has rows."""
    return [name for buckets in staged_slice.sections.values() for one in buckets for name in one.stored]


def _are_small(slices: Sequence[StagedSlice]) -> bool:
    """Are there many tables' rows, all of them inside the statements that merge them?"""
    return len(slices) >= MANY and not any(map(_names, slices))


def _touched(staged_slice: StagedSlice) -> Iterator[TableName]:
    """Yield the names of the tables that the rows of a slice go to."""
    return (one.target for buckets in staged_slice.sections.values() for one in buckets if any(one.rows.values()))


def _reloaded_with(step: ProgramStep, group: Sequence[ProgramStep]) -> list[TableName]:
    """Return the names of tables that a source's text changes and that wait for a refresh from then on."""
    if not step.runs_text:
        return []
    return [s.before.name for s in group if s.before is not None and _is_reloaded(s, s.before)]


def _is_reloaded(step: ProgramStep, before: TableState) -> bool:
    waits = step.after is not None and step.after.state is TableStatus.PENDING
    return waits and not before.shape.is_partitioned


def _changed(program: Program) -> dict[int, TableState]:
    """Return the table states that the steps changed, and those whose refresh lies before the end of the program.

    The latter come without their snapshot.
    """
    touched = {step.table_id for step in program.steps}
    return (
        {i: s for i, s in program.table_states.items() if i in touched} | program.past_refreshes | {**program.ends_as}
    )


def _dropped_ids(program: Program) -> list[int]:
    ids = (step.table_id for step in program.steps if step.table_id != NO_TABLE)
    return [table_id for table_id in ids if table_id not in program.table_states]


class _Run:
    """A run is one pass through a program inside its transaction."""

    def __init__(self, cursor: Cursor[Any], channel: str, slices: list[StagedSlice], session: Session) -> None:
        self.cursor = cursor
        self.channel = channel
        self.session = session
        self.waiting: dict[int, list[StagedSlice]] = {}
        for one in slices:
            self.waiting.setdefault(one.piece.table_id, []).append(one)
        self.applied = Applied()
        self.has_sequences = has_any(cursor.connection, channel)
        self._done: set[tuple[LogKey, tuple[str, ...]]] = set()

    def merge_before(self, steps: Sequence[ProgramStep]) -> None:
        """Merge the rows of these tables that come before the statement in the log."""
        ids, key = {step.table_id for step in steps}, steps[0].key
        due: list[StagedSlice] = []
        for table_id in sorted(ids & self.waiting.keys()):
            found = self.waiting.pop(table_id)
            due += [one for one in found if one.piece.high <= key]
            if late := [one for one in found if one.piece.high > key]:
                self.waiting[table_id] = late
        self._merge(due)

    def truncate(self, steps: Sequence[ProgramStep]) -> None:
        """Truncate the tables of one TRUNCATE together, so that foreign keys between them are no obstacle."""
        found = [step for step in steps if step.truncates]
        tables = [(step, step.before) for step in found if step.before is not None]
        names = [before.name for step, before in tables if not retains_rows(before.shape) and step.limit is None]
        clear(self.cursor, self.channel, [before.table_id for _, before in tables])
        for step, before in tables:
            if step.limit is not None:
                with identified({str(before.name): step.table_id}):
                    delete_all(self.cursor, [before.name], self.session, within(step.limit, "t"))
                self.applied.statements += 1
            elif (deletion := deletion_columns(before.shape)) is not None:
                self._mark_deleted(before.name, deletion, step)
            elif history_columns(before.shape) is not None:
                sql = note_truncate(
                    before.shape, before.name, (step.key, step.event.committed, step.event.transaction_id)
                )
                self.cursor.execute(sql.encode())
                self.applied.statements += 1
        if names:
            with identified({str(before.name): step.table_id for step, before in tables}):
                self._empty(names, restart=bool(found[0].event.settings.get("restart_identity")))

    def _mark_deleted(self, table: TableName, deletion: tuple[str, str | None], step: ProgramStep) -> None:
        """Mark all rows of a table as deleted, instead of emptying it."""
        flag, at = deletion
        moment = f"to_timestamp(0) + {step.event.committed} * interval '1 microsecond'"
        rows = rows_of(self.cursor, [table], self.session)[table]
        self.cursor.execute(mark_all_deleted(rows, flag, (at, moment) if at else None).encode())
        self.applied.statements += 1

    def merge_rest(self) -> None:
        """Merge all remaining rows, all tables together: deletes of all, then updates, then inserts."""
        due = [one for found in self.waiting.values() for one in found]
        self.waiting = {}
        self._merge(due)

    def step(self, step: ProgramStep, replaceable: Sequence[TableName] = ()) -> None:
        """Run one step of the program: the SQL that changes one table.

        replaceable: tables whose rows a refresh replaces; they may be emptied where their rows stop a statement.
        """
        self.applied.count(step)
        if step.plan is None:
            return
        changed = {step.plan.target, *([step.before.name] if step.before is not None else [])}
        self.session.silent.difference_update(self.session.silent.copy() if step.runs_text else changed)
        if self.has_sequences and any(part.kind is StepKind.SQL and part.sql for part in step.plan.steps):
            before = [step.before.name] if step.before is not None else []
            release(self.cursor, self.channel, [*before, step.plan.target])
        refuse_drop_of_others(self.cursor, self.channel, step)
        indexes: list[str] = []
        for part in step.plan.steps:
            if part.replaces and step.before is not None:
                indexes = own_indexes(self.cursor, step.before.shape)
                self._sql(step, part.sql, replaceable)
                name_parts(self.cursor, step.before.name)
            elif part.kind is StepKind.SQL and not (part.shared and not self._is_first(step, part.sql)):
                self._sql(step, part.sql, replaceable)
        with identified({str(step.plan.target): step.table_id}):
            self.session.look(self.cursor, step.plan.target)
        if step.plan.expected is not None:
            self._compare(step, step.plan, step.plan.expected)
        self.applied.warnings += index_again(self.cursor, step.plan.target, indexes)

    def _compare(self, step: ProgramStep, plan: TablePlan, expected: Expected) -> None:
        """Raise AlterRefused ADP-153 when a source's text has not made the table here what it made it at the source."""
        found = ServerFacts(self.cursor.connection).table(plan.target)
        if differs := unlike(expected, found, POSTGRES_TYPES):
            why = f"the statement did not have the same result at the target as at the source: {'; '.join(differs)}"
            raise AlterRefused(
                why,
                on=(step.table_id, step.key),
                is_text=True,
                code="ADP-153",
                table=plan.name,
                at=step.key,
                hint=f"rolled back; {MEND}",
            )

    def _is_first(self, step: ProgramStep, sql: tuple[str, ...]) -> bool:
        """Return whether these statements of a step, which several tables share, have not run yet; they run once."""
        if (step.key, sql) in self._done:
            return False
        self._done.add((step.key, sql))
        return True

    def _sql(self, step: ProgramStep, statements: Iterable[str], replaceable: Sequence[TableName]) -> None:
        import psycopg

        for statement in statements:
            try:
                self._execute(statement, replaceable, is_one=step.runs_text)
            except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
                raise
            except psycopg.Error as error:
                if (trouble := passing(error, "the target")) is not None:
                    name = step.plan.name if step.plan else None
                    raise trouble.about(table=name, table_id=step.table_id) from error
                raise alter_refused(step, statement, error) from None
            self.applied.statements += 1
            table = str(step.plan.name) if step.plan else ""
            self.applied.executed.append(Executed(table, str(Position(step.key.lsn)), statement))
            reach("integrate.altered")

    def _empty(self, names: Sequence[TableName], *, restart: bool) -> None:
        truncate(self.cursor, names, self.session, restart=restart)
        self.applied.statements += 1

    def _execute(self, statement: str, replaceable: Sequence[TableName], *, is_one: bool) -> None:
        """Run a statement; where the rows of `replaceable` stop it, empty those tables and run it again.

        A source's text converts all rows of its tables, those too that are loaded again anyway.
        is_one: the server refuses a text that is more than one statement (it does in the extended protocol).
        """
        import psycopg

        if not replaceable:
            self.cursor.execute(statement.encode(), binary=is_one)
            return
        try:
            with self.cursor.connection.transaction():
                self.cursor.execute(statement.encode(), binary=is_one)
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            names = ", ".join(map(str, replaceable))
            self.applied.warnings.append(f"{names}: empty until the refresh: {str(error).splitlines()[0]}")
            self._empty(replaceable, restart=False)
            self.cursor.execute(statement.encode(), binary=is_one)

    def _discard(self, buckets: Sequence[Staged]) -> None:
        """Store the rows that do not fit the target's columns, and tell of them and of values that became NULL."""
        for one in buckets:
            left = one.left_out
            replace_rows(self.cursor, self.channel, one.table_id, left.settled, left.discarded)
            self.applied.discarded.update({f"{one.target}:{why}": count for why, count in left.warnings.items()})

    def _resolved(self, one: Staged) -> Staged:
        """Return a staged change without the rows that lose a conflict at the target."""
        if one.conflicts is None:
            return one
        if one.conflicts.discards:
            remove_rows(self.cursor, self.channel, one.table_id, key_texts(one))
        found = resolve(self.cursor, one)
        replace_rows(self.cursor, self.channel, one.table_id, (), found.discarded)
        count_conflicts(self.cursor, self.channel, one.table_id, found.counts)
        self.applied.conflicts.update({f"{one.target}: {what}": count for what, count in found.counts.items()})
        return found.staged

    def _merge(self, due: list[StagedSlice]) -> None:
        """Merge slices of all tables together, but the sections of one table one after the other, in log order."""
        sections: dict[int, list[Sequence[Staged]]] = {}
        for one in sorted(due, key=lambda s: s.piece.low):
            found = sections.setdefault(one.piece.table_id, [])
            found += [one.sections[number] for number in sorted(one.sections)]
        for number in range(max(map(len, sections.values()), default=0)):
            buckets = [b for found in sections.values() if number < len(found) for b in found[number]]
            note_heirs(self.cursor, {one.target for one in buckets}, self.session)
            buckets = [
                self._resolved(replace(one, has_heirs=self.session.heirs.get(one.target, False))) for one in buckets
            ]
            if buckets:
                self._discard(buckets)
                counted = merge(self.cursor, buckets, self.session)
                self.applied.warnings += [one for one in self.session.warnings if one not in self.applied.warnings]
                for counts in counted:
                    updated = counts.updated + counts.moved
                    self.applied.rows.update(
                        changes=counts.changes, inserted=counts.inserted, updated=updated, deleted=counts.deleted
                    )
                reach("integrate.rows")
