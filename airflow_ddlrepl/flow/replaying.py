"""Replaying: a place is filled with the tables of a channel as they were, by its loads and the log after them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.adapt.facts import TargetFacts
from airflow_ddlrepl.adapt.leave import kept_aside
from airflow_ddlrepl.adapt.plan import target_shape
from airflow_ddlrepl.adapt.timeline import Standing
from airflow_ddlrepl.config.policies import ExistingTables
from airflow_ddlrepl.ddl.change import SchemaChange
from airflow_ddlrepl.ddl.change_default import ChangeDefault
from airflow_ddlrepl.ddl.change_type import ChangeType
from airflow_ddlrepl.ddl.drop_column import DropColumn
from airflow_ddlrepl.ddl.edit import free_name
from airflow_ddlrepl.engines.postgres import state
from airflow_ddlrepl.engines.postgres.apply import Applied
from airflow_ddlrepl.engines.postgres.chunk import Kept, LoadTask
from airflow_ddlrepl.engines.postgres.copying import SPELLING
from airflow_ddlrepl.engines.postgres.ddl import PostgresDdl
from airflow_ddlrepl.engines.postgres.exported import PAGE_BYTES, Exported
from airflow_ddlrepl.engines.postgres.leftovers import sweep
from airflow_ddlrepl.engines.postgres.names import qualified
from airflow_ddlrepl.engines.postgres.patience import patiently
from airflow_ddlrepl.engines.postgres.present import Present
from airflow_ddlrepl.engines.postgres.replayed import clear, finish, finished, free, reserve
from airflow_ddlrepl.engines.postgres.restricted import unlike
from airflow_ddlrepl.engines.postgres.sessions import end_earlier
from airflow_ddlrepl.errors import CannotAdapt, DdlReplError, TargetError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.applying import raise_stop, stage_stem
from airflow_ddlrepl.flow.bringing import bring, to_the_end
from airflow_ddlrepl.flow.claiming import claim, writing
from airflow_ddlrepl.flow.course import Course, Stop
from airflow_ddlrepl.flow.cycle import Cycle
from airflow_ddlrepl.flow.recording import record
from airflow_ddlrepl.flow.refreshing import Refresh, shadow_stem
from airflow_ddlrepl.flow.rereading import reread_where_lost
from airflow_ddlrepl.flow.restricting import condition_at
from airflow_ddlrepl.flow.survey import waiting_tables
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Lsn
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.trail.loads import LoadedTable

if TYPE_CHECKING:
    from psycopg import Cursor

    from airflow_ddlrepl.engines.postgres.connect import Connection

WAITING_AT_ONCE = 16  # for the answers of an object store


@dataclass
class Replayed:
    """loaded: rows by table. applied: what the log did after that."""

    loaded: dict[str, int] = field(default_factory=dict)
    applied: Applied = field(default_factory=Applied)


def replay(cycle: Cycle, into: str, way: Course, *, onward: bool = False) -> Replayed:
    """Go the whole way. What an earlier replay left there is removed first.

    onward: one that was made the same way and has not come farther is gone on with instead.
    Raises TrailError TRL-101 or TRL-102 before anything is done when a file of the trail is not there or not whole;
    CannotAdapt REW-103 to REW-105 and REW-109 for a place that can't take the tables, ControlStop where a policy stops.
    """
    found = Replayed()
    made_as = f"{cycle.channel.fingerprint()} {way.kind}"
    low = _gone(cycle, into, way, made_as) if onward else None
    reread_where_lost(cycle, lambda: _vouch(cycle, way, way.low if low is None else low))
    if low is None:
        _begin(cycle, into, way)
    else:
        _go_on(cycle, into, way)
    with _names_freed_on_failure(cycle, into):
        for stop in way.stops:
            if low is not None and stop.load.position < low:
                continue
            _bring(cycle, into, stop.load.position, way, found.applied)
            for standing, count in _restore(cycle, into, way, stop):
                found.loaded[str(standing.name)] = count
        _bring(cycle, into, way.high, way, found.applied)
        _finish(cycle, into, way, made_as)
    return found


@contextmanager
def _names_freed_on_failure(cycle: Cycle, into: str) -> Iterator[None]:
    """A replay that stops on the way does not come to the rest: what somebody makes under those names is not ours."""
    try:
        yield
    except DdlReplError:
        with suppress(DdlReplError):  # the first error matters more
            connection, holder = cycle.target_connection(into), cycle.channel.holder(into)
            with connection.transaction(), connection.cursor() as cursor:
                state.hold(cursor, holder, epoch=cycle.epoch, token=cycle.token)
                free(cursor, holder)
        raise


def _vouch(cycle: Cycle, way: Course, low: Lsn) -> None:
    """What a replay made is gone when it begins anew: every file that it needs from `low` on has to be there, whole.

    Raises TrailError TRL-101 or TRL-102. What a file holds is verified when it is read.
    """
    rows = cycle.repository.segments(cycle.channel.name, low, way.high)
    files = (file for row in rows if row.rows for file in cycle.trail.segment(row.epoch, row.low).files())
    stops = (stop for stop in way.stops if stop.load.position >= low)
    kept = (blob for stop in stops for table in stop.tables for blobs in table.chunks for blob in blobs)
    with ThreadPoolExecutor(WAITING_AT_ONCE) as pool:
        list(pool.map(cycle.trail.check_size, chain((f.blob for f in files if f.table_id in way.wanted), kept)))


def _finish(cycle: Cycle, into: str, way: Course, made_as: str) -> None:
    """Raises CannotAdapt REW-109 where a table still waits for rows: the place has refused what came on the way."""
    connection, holder = cycle.target_connection(into), cycle.channel.holder(into)
    for table_id, standing in state.read_state(connection, holder).standings.items():
        if table_id in way.names and standing.state in state.WAITING and not standing.shape.is_partitioned:
            raise CannotAdapt(
                f"the rows of {standing.name} are not known at {way.high}: a change on the way could not be made here,"
                " or its rows could not be read",
                code="REW-109",
                table=way.names[table_id],
                at=way.high,
                hint="the log of this run says which, and why; go to a position before it, or past the table's next"
                " refresh, or leave the table out with --table",
            )
    with connection.transaction(), connection.cursor() as cursor:
        state.hold(cursor, holder, epoch=cycle.epoch, token=cycle.token)
        finish(cursor, holder, made_as, state.read_state(connection, holder).lsn)


def _gone(cycle: Cycle, into: str, way: Course, made_as: str) -> Lsn | None:
    """From where a finished replay can go on this way: no load that it would need lies half behind it."""
    connection, holder = cycle.target_connection(into), cycle.channel.holder(into)
    try:
        there = state.read_state(connection, holder)
    except TargetError:
        return None
    at = there.lsn
    if there.token > cycle.token or at > way.high or at != finished(connection, holder, made_as):
        return None
    return None if any(stop.load.position < at < stop.load.snapshot.high for stop in way.stops) else at


def _begin(cycle: Cycle, into: str, way: Course) -> None:
    """The target is empty, stands where the course begins, and its tables wait for their loads."""
    holder = cycle.channel.holder(into)
    with writing(cycle, into) as connection:
        end_earlier(connection, holder, cycle.token)  # they may hold the position
        state.prepare(connection, holder, way.low, cycle.epoch, cycle.token)
        found = _taken_over(cycle, into, connection, way.low)
        claim(cycle, into, found.epoch)
        waiting = waiting_tables(cycle, into, way, Present(connection))
        cycle.check_lock()
        for stem in (stage_stem(holder), shadow_stem(holder)):  # what a killed rewind left is of types that go now
            sweep(connection, stem, cycle.token)

        def empty() -> None:
            with connection.transaction(), connection.cursor() as cursor:
                state.hold(cursor, holder, epoch=found.epoch, token=cycle.token)
                clear(cursor, holder, found.standings.values())
                _reserve(cycle, cursor, into, way)
                state.write_standings(cursor, holder, waiting, found.standings.keys() - waiting.keys())
                state.restart(connection, holder, way.low, cycle.epoch, cycle.token)

        patiently(empty, connection, cycle.target_dsn(into))
    cycle.repository.forget_target(cycle.channel.name, cycle.token, into)
    reach("rewind.begun")


def _taken_over(cycle: Cycle, into: str, connection: Connection[Any], low: Lsn) -> state.TargetState:
    """How the place stands. What a channel of the same name made with another repository is ours where we may replace.

    Raises TargetError TGT-103 where we may not.
    """
    found = state.read_state(connection, cycle.channel.holder(into))
    if found.token <= cycle.token:
        return found
    cycle.check_lock()  # a run of our own repository was not there later than this one
    if cycle.channel.target(into).existing_tables is not ExistingTables.REPLACE:
        raise TargetError(
            f"replay {into} holds what a channel called {cycle.channel.name} made with another repository",
            code="TGT-103",
            hint="call this channel something else; or, if that repository is lost, set `existing_tables: replace` for"
            " the replay: what is there is removed",
        )
    state.restart(connection, cycle.channel.holder(into), low, cycle.epoch, cycle.token)
    return state.read_state(connection, cycle.channel.holder(into))


def _go_on(cycle: Cycle, into: str, way: Course) -> None:
    """What comes on this stretch needs a place, too."""
    connection, holder = cycle.target_connection(into), cycle.channel.holder(into)
    with connection.transaction(), connection.cursor() as cursor:
        state.hold(cursor, holder, epoch=cycle.epoch, token=cycle.token)
        standing = [one.shape.with_(name=one.name) for one in state.read_state(connection, holder).standings.values()]
        _reserve(cycle, cursor, into, way, standing)


def _reserve(cycle: Cycle, cursor: Cursor[Any], into: str, way: Course, standing: Sequence[Table] = ()) -> None:
    """Of all shapes on the way: their names, where they go when they are kept and another one gets the name, types.

    standing: what is there already, and may have to go aside.
    """
    target_name = cycle.channel.target_name
    shapes = [*standing, *(shape.with_(name=target_name(into, shape.name)) for shape in way.shapes)]
    tables = {name for shape in shapes for name in (shape.name, kept_aside(shape))}
    types = {TableName(of.schema, of.name) for shape in way.shapes for of in shape.types}
    reserve(cursor, cycle.channel.holder(into), tables, types)


def _bring(cycle: Cycle, into: str, high: Lsn, way: Course, total: Applied) -> None:
    raise_stop(cycle, into, bring(cycle, into, to_the_end, total, high, way.wanted))


def _restore(cycle: Cycle, into: str, way: Course, stop: Stop) -> list[tuple[Standing, int]]:
    """The tables of a load get its rows."""
    holder = cycle.channel.holder(into)
    with writing(cycle, into) as connection:
        now = state.read_state(connection, holder)
        there = now.standings
        due = {k.table.id: k for k in stop.tables if k.table.id in there and way.takes(stop.load, there[k.table.id])}
        pages = {i: -(-sum(b.size for files in kept.chunks for b in files) // PAGE_BYTES) for i, kept in due.items()}
        tables = tuple(kept.table for kept in due.values())
        source = Exported("", stop.load.snapshot, tables, pages)
        done = _Restore(cycle, into, connection, source, there, due).run()
    record(cycle, into)
    reach("rewind.restored")
    return done


@dataclass
class _Restore(Refresh):
    """A refresh whose rows come from the trail. kept: by table id."""

    kept: Mapping[int, LoadedTable]

    def work(self, tables: Sequence[Table]) -> list[tuple[Table, int, LoadTask]]:
        """Each chunk as it was kept."""
        found = []
        for table in tables:
            kept = self.kept[table.id]
            columns = self._columns(table, kept)
            share = -(-self.source.pages[table.id] // max(1, len(kept.chunks)))
            for number, files in enumerate(kept.chunks):
                task = LoadTask(
                    source_dsn="",
                    target_dsn=self.cycle.target_dsn(self.target.name),
                    snapshot="",
                    table=table.name,
                    shadow=self.shadow(table),
                    columns=columns,
                    low_page=0,
                    high_page=None,
                    token=str(self.cycle.token),
                    chunk=f"{self.holder}/{table.id}/{number}",
                    binary=kept.is_binary,
                    kept=Kept(self.cycle.channel.trail, self.cycle.channel.name, files),
                )
                found.append((table, share, task))
        return found

    def shadow_shape(self, table: Table) -> Table:
        """As what was kept: with the columns that are not to be here, and types as they were there."""
        shape, spare, narrow = self.after[table.id].shape, self._spare(table), self._narrow(table)
        if not spare and not narrow:
            return shape
        columns = [narrow.get(column.id, column) for column in (*shape.columns, *spare.values())]
        whole = self._whole(table).types
        return shape.with_(
            columns=tuple(sorted(columns, key=lambda column: column.id)),
            types=tuple({of.oid: of for of in (*shape.types, *whole)}.values()),
        )

    def finish(self, table: Table) -> tuple[str, ...]:
        shape, render = self.shadow_shape(table).with_(name=self.shadow(table)), PostgresDdl(self.present.version)
        dropped = (render.sql(DropColumn(column), shape) for column in self._spare(table).values())
        widened = (render.sql(change, shape) for change in self._widened(table))
        return (*self._restricted(table), *chain.from_iterable((*dropped, *widened)), *super().finish(table))

    def rows_wanted(self, table: Table) -> str:
        """What is kept is loaded whole: `finish` takes away what is not wanted."""
        return ""

    def _restricted(self, table: Table) -> Iterator[str]:
        """Rows that the condition is not true for go while every kept column is there."""
        condition = condition_at(self.cycle.channel, self.into, table)
        if condition is None or table.is_partitioned:
            return
        ours = {column.id: column for column in self.shadow_shape(table).columns}
        here = {column.name: (column, ours[column.id]) for column in table.columns if column.id in ours}
        yield SPELLING
        yield f"DELETE FROM {qualified(self.shadow(table))} WHERE {unlike(condition, here)}"

    def _widened(self, table: Table) -> Iterator[SchemaChange]:
        wanted = self.after[table.id].shape
        for before in self._narrow(table).values():
            now = wanted.column(before.id)
            yield ChangeType(now.id, now.name, before, now.type, now.collation)
            if now.default:
                yield ChangeDefault(now.id, now.name, None, now.default)

    def _whole(self, table: Table) -> Table:
        """With all columns, under the source's names."""
        facts = TargetFacts(server_version=self.present.version, extensions=self.present.extensions)
        return target_shape(table, facts=facts)

    def _spare(self, table: Table) -> dict[int, Column]:
        """Columns that were kept and that get no values here, as the shadow table has them until it is loaded."""
        shape = self.after[table.id].shape
        filled = {c.id for c in shape.columns} & {c.id for c in self.read(table).columns}
        absent = {c.id for c in table.columns if c.name in self.kept[table.id].columns} - filled
        taken = {column.name for column in shape.columns}
        spare = [column for column in self._whole(table).columns if column.id in absent]
        return {c.id: Column(c.id, free_name(f"absent_{c.id}", taken), c.type, collation=c.collation) for c in spare}

    def _narrow(self, table: Table) -> dict[int, Column]:
        """Columns whose rows were kept in the binary format of another type than they have here, with that type."""
        if not self.kept[table.id].is_binary:
            return {}
        there, here = ({c.id: c for c in shape.columns} for shape in (self._whole(table), self.after[table.id].shape))
        typed = {c.id: (there[c.id], here[c.id]) for c in table.columns if c.id in there and c.id in here}
        return {
            i: replace(ours, type=theirs.type, collation=theirs.collation, default=None)
            for i, (theirs, ours) in typed.items()
            if not ours.generated and theirs.type.text != ours.type.text
        }

    def _columns(self, table: Table, kept: LoadedTable) -> tuple[tuple[str, str], ...]:
        """The kept columns and what they are called here. Raises CannotAdapt REW-103 where one does not fit."""
        theirs = {column.name: column for column in table.columns}
        ours = {column.id: column for column in self.shadow_shape(table).columns}
        found = []
        for name in kept.columns:
            column = ours.get(theirs[name].id)
            if column is None or column.generated or (kept.is_binary and column.type.text != theirs[name].type.text):
                raise CannotAdapt(
                    f"column {name} can't take the rows that were kept of type {theirs[name].type.text}",
                    code="REW-103",
                    table=table.name,
                    hint=f"the replay {self.target.name} lacks what the type needs (an extension?): create it there",
                )
            found.append((name, column.name))
        return tuple(found)
