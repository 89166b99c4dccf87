"""Replaying: a place is filled with the tables of a channel as they were, by its loads and the log after them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.adapt.program.program import Standing, State
from airflow_ddlrepl.config.sections.policies import ExistingTables
from airflow_ddlrepl.engines.postgres.catalog.server_facts import Present
from airflow_ddlrepl.engines.postgres.connection.lock_retry import patiently
from airflow_ddlrepl.engines.postgres.connection.session_names import end_earlier
from airflow_ddlrepl.engines.postgres.source.exported_snapshot import PAGE_BYTES, Exported
from airflow_ddlrepl.engines.postgres.target import state
from airflow_ddlrepl.engines.postgres.target.apply import Applied
from airflow_ddlrepl.engines.postgres.target.cleanup import sweep
from airflow_ddlrepl.engines.postgres.target.rewind_area import clear, drop_tables, finish, finished, free, reserve
from airflow_ddlrepl.errors import CannotAdapt, DdlReplError, TargetError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.apply.advance import bring, to_the_end
from airflow_ddlrepl.flow.apply.transaction import raise_stop, stage_stem
from airflow_ddlrepl.flow.capture.recapture import reread_where_lost
from airflow_ddlrepl.flow.refresh.refresh import shadow_stem
from airflow_ddlrepl.flow.rewind.preview import names_on_the_way, waiting_tables
from airflow_ddlrepl.flow.rewind.restore import Restore
from airflow_ddlrepl.flow.rewind.route import Course, Stop
from airflow_ddlrepl.flow.run.context import Cycle
from airflow_ddlrepl.flow.run.fencing import claim, writing
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.model.position import Lsn
from airflow_ddlrepl.model.table import Table

if TYPE_CHECKING:
    from psycopg import Cursor

    from airflow_ddlrepl.engines.postgres.connection.connect import Connection

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
    """The place has the tables of the end, and no others: what was dropped on the way goes, whatever the policies say.

    Raises CannotAdapt REW-109 where a table still waits for rows: the place has refused what came on the way.
    """
    connection, holder = cycle.target_connection(into), cycle.channel.holder(into)
    there = state.read_state(connection, holder)
    for table_id, standing in there.standings.items():
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
    others = {i: one for i, one in there.standings.items() if not way.ends_with(i)}

    def close() -> None:
        with connection.transaction(), connection.cursor() as cursor:
            state.hold(cursor, holder, epoch=cycle.epoch, token=cycle.token)
            drop_tables(cursor, [one.name for one in others.values() if one.state is not State.NEW])
            state.write_standings(cursor, holder, {}, others)
            finish(cursor, holder, made_as, there.lsn)

    patiently(close, connection, cycle.target_dsn(into))


def _gone(cycle: Cycle, into: str, way: Course, made_as: str) -> Lsn | None:
    """From where a finished replay can go on this way: no load that it would need lies half behind it."""
    connection, holder = cycle.target_connection(into), cycle.channel.holder(into)
    try:
        there = state.read_state(connection, holder)
    except TargetError:
        return None
    at = there.lsn
    if (
        there.token > cycle.token
        or there.epoch != cycle.epoch
        or at > way.high
        or at != finished(connection, holder, made_as)
    ):
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
    reserve(cursor, cycle.channel.holder(into), *names_on_the_way(cycle, into, way, standing))


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
        done = Restore(cycle, into, connection, source, there, due).run()
    record(cycle, into)
    reach("rewind.restored")
    return done
