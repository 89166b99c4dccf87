"""A replay fills a place with the tables of a channel as they were, from its loads and the log after them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain

from airflow_ddlrepl.config.sections.policies import ExistingTables
from airflow_ddlrepl.engines.abilities.rewinds import Rewinds
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.target_state import WAITING, Applied, Move, StateChange, TargetState
from airflow_ddlrepl.errors import CannotRewind, DdlReplError, TargetError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.apply.advance import bring, to_the_end
from airflow_ddlrepl.flow.apply.transaction import raise_stop
from airflow_ddlrepl.flow.capture.recapture import reread_where_lost
from airflow_ddlrepl.flow.refresh.row_origin import ShapesAtTarget
from airflow_ddlrepl.flow.refresh.table_loader import TableLoader
from airflow_ddlrepl.flow.rewind.preview import names_on_the_way, waiting_tables
from airflow_ddlrepl.flow.rewind.restore import ArchivedTables
from airflow_ddlrepl.flow.rewind.route import RestorePoint, RewindRoute
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.fencing import claim
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table_state import TableState

WAITING_AT_ONCE = 16  # for the answers of an object store


@dataclass
class Replayed:
    """This is what a replay did. loaded: rows by table. applied: what the log did after that."""

    loaded: dict[str, int] = field(default_factory=dict)
    applied: Applied = field(default_factory=Applied)


def replay(run: RunContext, into: str, way: RewindRoute, *, onward: bool = False) -> Replayed:
    """Build the tables of a rewind along its whole route. What an earlier replay left there is removed first.

    onward: an earlier replay of the same kind that is not past the end is continued instead.
    Raises TrailError TRL-101 or TRL-102 before anything is done when a file of the trail is not there or not whole;
    CannotRewind REW-103 to REW-105 and REW-109 for a place that can't take the tables, ControlStop where a policy
    stops.
    """
    found = Replayed()
    made_as = f"{run.channel.fingerprint()} {way.kind}"
    low = _resumes_from(run, into, way, made_as) if onward else None
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
    """Free the reserved names when a replay stops halfway: what somebody makes under them then is not ours."""
    try:
        yield
    except DdlReplError:
        with suppress(DdlReplError):  # the first error matters more
            able(run.target(into), Rewinds).rewind_area.free(run.fence)
        raise


def _vouch(run: RunContext, way: RewindRoute, low: Position) -> None:
    """Raise TrailError TRL-101 or TRL-102 unless every file that a replay needs from `low` on is there, whole.

    What an earlier replay made is removed when this one begins, so it is checked first. What a file holds is verified
    when it is read.
    """
    rows = run.repository.segments(run.channel.name, low, way.high)
    files = (file for row in rows if row.rows for file in run.trail.segment(row.epoch, row.low).files())
    stops = (stop for stop in way.stops if stop.load.position >= low)
    archived = (blob for stop in stops for table in stop.tables for blobs in table.chunks for blob in blobs)
    with ThreadPoolExecutor(WAITING_AT_ONCE) as pool:
        list(pool.map(run.trail.check_size, chain((f.blob for f in files if f.table_id in way.wanted), archived)))


def _finish(run: RunContext, into: str, way: RewindRoute, made_as: str) -> None:
    """Remove all tables but those of the end: what was dropped during the replay goes, whatever the policies are.

    Raises CannotRewind REW-109 where a table still waits for rows: the place has refused what came before.
    """
    target = run.target(into)
    there = target.state()
    for table_id, table_state in there.table_states.items():
        if table_id in way.names and table_state.state in WAITING and not table_state.shape.is_partitioned:
            raise CannotRewind(
                f"the rows of {table_state.name} are not known at {way.high}:"
                " an earlier schema change could not be applied here, or rows could not be read",
                code="REW-109",
                table=way.names[table_id],
                at=way.high,
                hint="the log of this run says which, and why; choose a position before it, or after the table's next"
                " refresh, or leave the table out with --table",
            )
    others = {i: one for i, one in there.table_states.items() if not way.ends_with(i)}
    able(target, Rewinds).rewind_area.finish(made_as, there.lsn, others, run.fence)


def _resumes_from(run: RunContext, into: str, way: RewindRoute, made_as: str) -> Position | None:
    """Return the position from which a finished replay can go on by this route; None: it can't.

    It can where no load that it would need lies half behind it.
    """
    target = run.target(into)
    try:
        there = target.state()
    except TargetError:
        return None
    at = there.lsn
    if (
        there.token > run.token
        or there.epoch != run.epoch
        or at > way.high
        or at != able(target, Rewinds).rewind_area.finished(made_as)
    ):
        return None
    return None if any(stop.load.position < at < stop.load.snapshot.high for stop in way.stops) else at


def _begin(run: RunContext, into: str, way: RewindRoute) -> None:
    """Empty the place, set its position to the route's begin, and let its tables wait for their loads."""
    target = run.target(into)
    target.prepare(run.token)
    target.change_state(StateChange(Move(way.low, None)), run.fence)
    found = _taken_over(run, into, way.low)
    claim(run, into, found.epoch)
    waiting = waiting_tables(run, into, way, target.facts())
    run.check_lock()
    target.sweep(run.token)  # what a killed rewind left is of types that go now
    able(target, Rewinds).rewind_area.begin(way.low, found, waiting, names_on_the_way(run, into, way), run.fence)
    run.repository.forget_target(run.channel.name, run.token, into)
    reach("rewind.begun")


def _taken_over(run: RunContext, into: str, low: Position) -> TargetState:
    """Return the state of the place; take over, where allowed, what another repository's channel of this name made.

    Raises TargetError TGT-103 where it is not.
    """
    found = run.target(into).state()
    if found.token <= run.token:
        return found
    run.check_lock()  # a run of our own repository was not there later than this one
    if run.channel.target(into).existing_tables is not ExistingTables.REPLACE:
        raise TargetError(
            f"replay {into} contains tables that a channel called {run.channel.name} created with another repository",
            code="TGT-103",
            hint="call this channel something else; or, if that repository is lost, set `existing_tables: replace` for"
            " the replay: what is there is removed",
        )
    run.target(into).take_over(low, run.fence)
    return run.target(into).state()


def _go_on(run: RunContext, into: str, way: RewindRoute) -> None:
    """Reserve the names that the rest of the route needs, too."""
    target = run.target(into)
    present = [one.shape.with_(name=one.name) for one in target.state().table_states.values()]
    able(target, Rewinds).rewind_area.reserve(names_on_the_way(run, into, way, present), run.fence)


def _bring(run: RunContext, into: str, high: Position, way: RewindRoute, total: Applied) -> None:
    raise_stop(run, into, bring(run, into, to_the_end, total, high, way.wanted))


def _restore(run: RunContext, into: str, way: RewindRoute, stop: RestorePoint) -> list[tuple[TableState, int]]:
    """Fill the tables of a load with its rows."""
    with run.target(into).loading(run.token) as loader:
        there = run.target(into).state().table_states
        due = {k.table.id: k for k in stop.tables if k.table.id in there and way.takes(stop.load, there[k.table.id])}
        tables = [archived.table for archived in due.values()]
        shapes = ShapesAtTarget(run, into, loader.facts, there, tables, stop.load.snapshot)
        origin = ArchivedTables(run, into, loader, shapes, due)
        done = TableLoader(run, into, loader, origin, there).run()
    record(run, into)
    reach("rewind.restored")
    return done
