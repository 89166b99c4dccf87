"""Replaying: a place is filled with the tables of a channel as they were, by its loads and the log after them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.config.sections.policies import ExistingTables
from airflow_ddlrepl.engines.postgres.catalog.server_facts import ServerFacts
from airflow_ddlrepl.engines.postgres.connection.lock_retry import patiently
from airflow_ddlrepl.engines.postgres.connection.session_names import end_earlier
from airflow_ddlrepl.engines.postgres.source.exported_snapshot import PAGE_BYTES, SourceSnapshot
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
from airflow_ddlrepl.flow.rewind.route import RestorePoint, RewindRoute
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.fencing import claim, writing
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.model.position import Lsn
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus

if TYPE_CHECKING:
    from psycopg import Cursor

    from airflow_ddlrepl.engines.postgres.connection.connect import Connection

WAITING_AT_ONCE = 16  # for the answers of an object store


@dataclass
class Replayed:
    """loaded: rows by table. applied: what the log did after that."""

    loaded: dict[str, int] = field(default_factory=dict)
    applied: Applied = field(default_factory=Applied)


def replay(run: RunContext, into: str, way: RewindRoute, *, onward: bool = False) -> Replayed:
    """Go the whole way. What an earlier replay left there is removed first.

    onward: one that was made the same way and has not come farther is gone on with instead.
    Raises TrailError TRL-101 or TRL-102 before anything is done when a file of the trail is not there or not whole;
    CannotAdapt REW-103 to REW-105 and REW-109 for a place that can't take the tables, ControlStop where a policy stops.
    """
    found = Replayed()
    made_as = f"{run.channel.fingerprint()} {way.kind}"
    low = _gone(run, into, way, made_as) if onward else None
    reread_where_lost(run, lambda: _vouch(run, way, way.low if low is None else low))
    if low is None:
        _begin(run, into, way)
    else:
        _go_on(run, into, way)
    with _names_freed_on_failure(run, into):
        for stop in way.stops:
            if low is not None and stop.load.position < low:
                continue
            _bring(run, into, stop.load.position, way, found.applied)
            for table_state, count in _restore(run, into, way, stop):
                found.loaded[str(table_state.name)] = count
        _bring(run, into, way.high, way, found.applied)
        _finish(run, into, way, made_as)
    return found


@contextmanager
def _names_freed_on_failure(run: RunContext, into: str) -> Iterator[None]:
    """A replay that stops on the way does not come to the rest: what somebody makes under those names is not ours."""
    try:
        yield
    except DdlReplError:
        with suppress(DdlReplError):  # the first error matters more
            connection, holder = run.target_connection(into), run.channel.holder(into)
            with connection.transaction(), connection.cursor() as cursor:
                state.hold(cursor, holder, epoch=run.epoch, token=run.token)
                free(cursor, holder)
        raise


def _vouch(run: RunContext, way: RewindRoute, low: Lsn) -> None:
    """What a replay made is gone when it begins anew: every file that it needs from `low` on has to be there, whole.

    Raises TrailError TRL-101 or TRL-102. What a file holds is verified when it is read.
    """
    rows = run.repository.segments(run.channel.name, low, way.high)
    files = (file for row in rows if row.rows for file in run.trail.segment(row.epoch, row.low).files())
    stops = (stop for stop in way.stops if stop.load.position >= low)
    kept = (blob for stop in stops for table in stop.tables for blobs in table.chunks for blob in blobs)
    with ThreadPoolExecutor(WAITING_AT_ONCE) as pool:
        list(pool.map(run.trail.check_size, chain((f.blob for f in files if f.table_id in way.wanted), kept)))


def _finish(run: RunContext, into: str, way: RewindRoute, made_as: str) -> None:
    """The place has the tables of the end, and no others: what was dropped on the way goes, whatever the policies say.

    Raises CannotAdapt REW-109 where a table still waits for rows: the place has refused what came on the way.
    """
    connection, holder = run.target_connection(into), run.channel.holder(into)
    there = state.read_state(connection, holder)
    for table_id, table_state in there.table_states.items():
        if table_id in way.names and table_state.state in state.WAITING and not table_state.shape.is_partitioned:
            raise CannotAdapt(
                f"the rows of {table_state.name} are not known at {way.high}:"
                " a change on the way could not be made here, or its rows could not be read",
                code="REW-109",
                table=way.names[table_id],
                at=way.high,
                hint="the log of this run says which, and why; go to a position before it, or past the table's next"
                " refresh, or leave the table out with --table",
            )
    others = {i: one for i, one in there.table_states.items() if not way.ends_with(i)}

    def close() -> None:
        with connection.transaction(), connection.cursor() as cursor:
            state.hold(cursor, holder, epoch=run.epoch, token=run.token)
            drop_tables(cursor, [one.name for one in others.values() if one.state is not TableStatus.NEW])
            state.write_standings(cursor, holder, {}, others)
            finish(cursor, holder, made_as, there.lsn)

    patiently(close, connection, run.target_dsn(into))


def _gone(run: RunContext, into: str, way: RewindRoute, made_as: str) -> Lsn | None:
    """From where a finished replay can go on this way: no load that it would need lies half behind it."""
    connection, holder = run.target_connection(into), run.channel.holder(into)
    try:
        there = state.read_state(connection, holder)
    except TargetError:
        return None
    at = there.lsn
    if (
        there.token > run.token
        or there.epoch != run.epoch
        or at > way.high
        or at != finished(connection, holder, made_as)
    ):
        return None
    return None if any(stop.load.position < at < stop.load.snapshot.high for stop in way.stops) else at


def _begin(run: RunContext, into: str, way: RewindRoute) -> None:
    """The target is empty, stands where the course begins, and its tables wait for their loads."""
    holder = run.channel.holder(into)
    with writing(run, into) as connection:
        end_earlier(connection, holder, run.token)  # they may hold the position
        state.prepare(connection, holder, way.low, run.epoch, run.token)
        found = _taken_over(run, into, connection, way.low)
        claim(run, into, found.epoch)
        waiting = waiting_tables(run, into, way, ServerFacts(connection))
        run.check_lock()
        for stem in (stage_stem(holder), shadow_stem(holder)):  # what a killed rewind left is of types that go now
            sweep(connection, stem, run.token)

        def empty() -> None:
            with connection.transaction(), connection.cursor() as cursor:
                state.hold(cursor, holder, epoch=found.epoch, token=run.token)
                clear(cursor, holder, found.table_states.values())
                _reserve(run, cursor, into, way)
                state.write_standings(cursor, holder, waiting, found.table_states.keys() - waiting.keys())
                state.restart(connection, holder, way.low, run.epoch, run.token)

        patiently(empty, connection, run.target_dsn(into))
    run.repository.forget_target(run.channel.name, run.token, into)
    reach("rewind.begun")


def _taken_over(run: RunContext, into: str, connection: Connection[Any], low: Lsn) -> state.TargetState:
    """How the place stands. What a channel of the same name made with another repository is ours where we may replace.

    Raises TargetError TGT-103 where we may not.
    """
    found = state.read_state(connection, run.channel.holder(into))
    if found.token <= run.token:
        return found
    run.check_lock()  # a run of our own repository was not there later than this one
    if run.channel.target(into).existing_tables is not ExistingTables.REPLACE:
        raise TargetError(
            f"replay {into} holds what a channel called {run.channel.name} made with another repository",
            code="TGT-103",
            hint="call this channel something else; or, if that repository is lost, set `existing_tables: replace` for"
            " the replay: what is there is removed",
        )
    state.restart(connection, run.channel.holder(into), low, run.epoch, run.token)
    return state.read_state(connection, run.channel.holder(into))


def _go_on(run: RunContext, into: str, way: RewindRoute) -> None:
    """What comes on this stretch needs a place, too."""
    connection, holder = run.target_connection(into), run.channel.holder(into)
    with connection.transaction(), connection.cursor() as cursor:
        state.hold(cursor, holder, epoch=run.epoch, token=run.token)
        present = [one.shape.with_(name=one.name) for one in state.read_state(connection, holder).table_states.values()]
        _reserve(run, cursor, into, way, present)


def _reserve(run: RunContext, cursor: Cursor[Any], into: str, way: RewindRoute, present: Sequence[Table] = ()) -> None:
    """Of all shapes on the way: their names, where they go when they are kept and another one gets the name, types.

    present: what is there already, and may have to go aside.
    """
    reserve(cursor, run.channel.holder(into), *names_on_the_way(run, into, way, present))


def _bring(run: RunContext, into: str, high: Lsn, way: RewindRoute, total: Applied) -> None:
    raise_stop(run, into, bring(run, into, to_the_end, total, high, way.wanted))


def _restore(run: RunContext, into: str, way: RewindRoute, stop: RestorePoint) -> list[tuple[TableState, int]]:
    """The tables of a load get its rows."""
    holder = run.channel.holder(into)
    with writing(run, into) as connection:
        now = state.read_state(connection, holder)
        there = now.table_states
        due = {k.table.id: k for k in stop.tables if k.table.id in there and way.takes(stop.load, there[k.table.id])}
        pages = {i: -(-sum(b.size for files in kept.chunks for b in files) // PAGE_BYTES) for i, kept in due.items()}
        tables = tuple(kept.table for kept in due.values())
        source = SourceSnapshot("", stop.load.snapshot, tables, pages)
        done = Restore(run, into, connection, source, there, due).run()
    record(run, into)
    reach("rewind.restored")
    return done
