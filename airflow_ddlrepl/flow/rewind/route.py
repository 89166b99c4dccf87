"""The route of a rewind says where it begins, which loads come in between, and what stays unknown."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from airflow_ddlrepl.capture.unknown_shapes import unknown_shapes
from airflow_ddlrepl.engines.target_state import WAITING
from airflow_ddlrepl.errors import ConfigError, DdlReplError
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.snapshots.archive import is_whole, tables_at
from airflow_ddlrepl.flow.targets.stop_position import Until
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Origin, Revision
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.notation.name_pattern import is_selected
from airflow_ddlrepl.scope.client import client_at
from airflow_ddlrepl.scope.decide import ChangeKind, decide
from airflow_ddlrepl.trail.loads import Load, LoadedTable, loads
from airflow_ddlrepl.trail.manifest import Segment

NO_HORIZON = "set `rewind_horizon` in the channel file, then `ddlrepl refresh --table '*.*'`: what a later refresh"


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """At a restore point, a load's position, these of the load's tables get their rows."""

    load: Load
    tables: tuple[LoadedTable, ...]


@dataclass(frozen=True, slots=True)
class RewindRoute:
    """A route is the log of a rewind from low to high, and the tables that are loaded in between, and where.

    before: the tables as they were at low; those that a load brings later wait for it. shapes: all that the tables
    have on the route, these included. wanted: ids of the tables that the replay is about. names: of those at high.
    gone: ids of those that were there at base, and are not at high. parents: of partitions, what they are of. unsafe:
    why the rows of some tables at high can't be known. known_from: the first later position where a load has a table's
    rows. base: loads after it are only for tables whose rows are not known by then. kind: equal for all routes that one
    replay can go, one after the other.
    """

    low: Position
    high: Position
    before: Mapping[int, Table]
    shapes: Sequence[Table]
    wanted: frozenset[int]
    names: Mapping[int, TableName]
    gone: frozenset[int]
    parents: Mapping[int, int]
    stops: tuple[RestorePoint, ...]
    unsafe: Mapping[int, str]
    known_from: Mapping[int, Position]
    base: Position
    kind: str

    def takes(self, load: Load, table_state: TableState) -> bool:
        """Does the table get the load's rows?"""
        return load.snapshot.high <= self.base or table_state.state in WAITING

    def ends_with(self, table_id: int) -> bool:
        """Is the table there at the end? Others exist in between only: partitions that are dropped before."""
        return table_id in self.names or table_id in self.gone

    def root(self, table_id: int) -> int:
        """Return the table's topmost partitioned table, or itself: tables with one root go back together."""
        while table_id in self.parents:
            table_id = self.parents[table_id]
        return table_id


def rewind_route(
    run: RunContext,
    high: Position,
    patterns: Sequence[str] = (),
    base: Position | None = None,
    left_out: Container[int] = (),
) -> RewindRoute:
    """Return the shortest route. patterns: of the tables that it is about, by their names at `high`.

    base: it leads through this position, and goes on from there by the log wherever that has the rows.
    left_out: ids of tables that it is not about.

    Raises ConfigError CFG-131 when no table of the channel matches, DdlReplError REW-101 when there is no way at all.
    """
    base = high if base is None else base
    tables, earlier = tables_at(run, high), tables_at(run, base)
    wanted = _wanted(tables, patterns, left_out)
    if not wanted:
        raise ConfigError(
            f"no table of the channel at {high} matches {', '.join(patterns) or 'it: there was none'}",
            code="CFG-131",
            hint="`ddlrepl revisions` lists the tables and since when they are there",
        )
    every = loads(run.trail, run.epoch)
    last = _last([load for load in every if load.snapshot.high <= base])
    gone = _wanted(earlier, patterns, left_out) & last.keys() - wanted
    passed = [load for load in every if base < load.snapshot.high <= high]
    joined = {
        archived.table.id: load
        for load in reversed(passed)
        for archived in load.tables
        if archived.table.id not in earlier
    }
    histories = run.repository.histories(run.channel.name)
    starts, unsafe = _starts(run, {i: histories[i][0] for i in wanted | gone}, last, joined)
    unsafe |= _unrecorded_changes(run, high, {i: histories[i] for i in wanted})
    if not starts:
        raise out_of_reach(run, base, _reasons(unsafe, {**earlier, **tables}))
    low = min(starts.values())
    before = tables_at(run, low)
    about = wanted | gone | _family(before, wanted | gone)
    later = [load for load in reversed(every) if load.snapshot.high > high]
    return RewindRoute(
        low,
        high,
        {i: table for i, table in before.items() if i in about},
        [*(table for i, table in before.items() if i in about), *_shapes(run, about, low, high)],
        about,
        {i: tables[i].name for i in wanted},
        gone,
        {i: table.partition.of for i, table in tables.items() if table.partition},
        _stops([load for load in every if low <= load.position and load.snapshot.high <= high], last, about, base),
        {i: why for i, why in unsafe.items() if i in wanted},
        {archived.table.id: load.snapshot.high for load in later for archived in load.tables},
        base,
        " ".join(sorted(patterns)) if base == high else f"through {base} {sorted(patterns)}",
    )


def _last(every: Iterable[Load]) -> dict[int, Load]:
    """Return the loads that tables begin with, by id. A partition that was loaded alone begins with its parent's load.

    For a column that the target retains, the parent's has its values, and the later load has not.
    """
    found: dict[int, Load] = {}
    for load in every:
        ids = {archived.table.id for archived in load.tables}
        for table in (archived.table for archived in load.tables):
            if table.partition is None or table.partition.of in ids or table.id not in found:
                found[table.id] = load
    return found


def _starts(
    run: RunContext, born: Mapping[int, Revision], last: Mapping[int, Load], joined: Mapping[int, Load]
) -> tuple[dict[int, Position], dict[int, str]]:
    """Return from where on the log is needed, by table; and why the rows of some tables can't be known.

    born: their first revisions. last: the loads that tables begin with. joined: of those that had none by then, the
    loads that brought them.
    """
    begins = run.repository.retained_from(run.channel.name)
    starts: dict[int, Position] = {}
    unsafe: dict[int, str] = {}
    for table_id, first in born.items():
        if table_id in last:
            start = last[table_id].position
        elif first.origin is Origin.IN_LOG:
            start = Position(first.key.lsn)
        elif table_id in joined:
            start = joined[table_id].position
        else:
            unsafe[table_id] = "the trail no longer has its rows from before"
            continue
        if start < begins:
            unsafe[table_id] = f"its log is needed from {start} on, the trail begins at {begins}"
        else:
            starts[table_id] = start
    return starts, unsafe


def _unrecorded_changes(run: RunContext, high: Position, histories: Mapping[int, Sequence[Revision]]) -> dict[int, str]:
    """Return tables of which the log lacks something before `high`, by id, and what.

    Capture has seen it when it inspected them after `high`: a change that the event triggers could not record, or rows
    while they were not published.
    """
    if not run.repository.segments_with_events(run.channel.name, high) or not (segments := _around(run, high)):
        return {}
    events = sorted((e for s in segments for e in run.trail.events(s)), key=lambda e: e.key)
    late = {i: e.key.lsn for e in events if e.is_inspected and e.key.lsn >= high for i in e.filled}
    return unknown_shapes(events, histories, high, segments[-1].high) | {
        i: f"it was not published all the time before {Position(lsn)}" for i, lsn in late.items() if i in histories
    }


def _around(run: RunContext, position: Position) -> list[Segment]:
    """Return the segments between the catalog's inspections before and after the position; none where one was there."""
    starts = run.repository.segment_starts(run.channel.name)
    first = bisect_left(starts, position) - 1
    if first < 0:
        return []
    found = [run.trail.segment(run.epoch, Position(starts[first]))]
    if found[0].is_inspected and found[0].high <= position:
        return []
    for start in reversed(starts[:first]):
        before = run.trail.segment(run.epoch, Position(start))
        if before.is_inspected:
            break
        found.insert(0, before)
    for start in starts[first + 1 :]:
        if found[-1].is_inspected:
            break
        found.append(run.trail.segment(run.epoch, Position(start)))
    return found


def horizon(run: RunContext) -> Load | None:
    """Return the load whose snapshot is the oldest state that every table of the channel can be brought back to."""
    begins = run.repository.retained_from(run.channel.name)
    usable = [load for load in loads(run.trail, run.epoch) if load.position >= begins and is_whole(run, load)]
    return min(usable, key=lambda load: load.snapshot.high, default=None)


def out_of_reach(run: RunContext, to: Until, why: str) -> DdlReplError:
    """Return the error for a moment before the horizon; it names the oldest position that works."""
    hint = f"{NO_HORIZON} reads is kept, and a rewind can begin there"
    if (oldest := horizon(run)) is not None:
        since = oldest.created.isoformat(timespec="seconds")
        hint = f"the oldest position that works is {oldest.snapshot.high} ({since})"
    at = to if isinstance(to, Position) else None
    return DdlReplError(f"there is no way back to {to}: {why}", code="REW-101", at=at, hint=hint)


def is_held(run: RunContext, to: Until) -> bool:
    """Does the trail hold the log from there on, or from before it? What it begins with has been there for longer."""
    begins = run.repository.retained_from(run.channel.name)
    usable = [load for load in loads(run.trail, run.epoch) if load.position >= begins]
    starts = run.repository.segment_starts(run.channel.name)
    if isinstance(to, Position):
        return to >= min([*(load.position for load in usable), *starts[:1]], default=run.captured())
    if any(load.created <= to for load in usable):
        return True
    for start in starts:
        committed = run.trail.transactions(run.trail.segment(run.epoch, Position(start)))["committed"]
        if len(committed):
            return bool(pc.min(committed).as_py() <= int(to.timestamp() * 1_000_000))
    return False


def _reasons(unsafe: Mapping[int, str], tables: Mapping[int, Table]) -> str:
    """Return each reason once, with one of the tables that it is about."""
    about: dict[str, list[TableName]] = {}
    for table_id, why in unsafe.items():
        about.setdefault(why, []).append(tables[table_id].name)
    more = {why: f" and {len(names) - 1} more" if names[1:] else "" for why, names in about.items()}
    return "; ".join(f"{names[0]}{more[why]}: {why}" for why, names in about.items())


def strangers(run: RunContext, place: str, at: Position) -> frozenset[int]:
    """Return the ids of the tables of which that target or replay takes nothing by its rules."""
    client = client_at(run.channel.at(place))
    tables = tables_at(run, at).items()
    return frozenset(i for i, table in tables if not decide(client, table.name, ChangeKind.TABLE).is_taken)


def _wanted(tables: Mapping[int, Table], patterns: Sequence[str], left_out: Container[int]) -> frozenset[int]:
    named = {i for i, table in tables.items() if is_selected(table.name, patterns)}
    return frozenset(i for i in _family(tables, named) if i not in left_out)


def _family(tables: Mapping[int, Table], named: Iterable[int]) -> set[int]:
    """Return the ids with those of a partitioned table's partitions, and of a partition's partitioned table."""
    found = set(named)
    while True:
        more = {i for i, t in tables.items() if t.partition and t.partition.of in found}
        more |= {t.partition.of for i, t in tables.items() if i in found and t.partition}
        if more <= found:
            return found
        found |= more


def _shapes(run: RunContext, about: Container[int], low: Position, high: Position) -> Iterator[Table]:
    """Yield the shapes that the tables get between two positions."""
    for revision in run.repository.revisions(run.channel.name):
        if revision.table is not None and revision.table_id in about and low <= revision.key.lsn < high:
            yield revision.table


def _stops(
    passed: Sequence[Load], last: Mapping[int, Load], about: Container[int], base: Position
) -> tuple[RestorePoint, ...]:
    """Return the restore points of a route, with the tables that are due at each.

    Up to the base a table gets the rows of its last load only, a partition those of later ones alone, too; a
    partitioned one has none, and is before its partitions.
    """

    def is_due(load: Load, table: Table) -> bool:
        begins, alone = last.get(table.id), table.partition is not None
        is_last = begins is not None and (begins is load or (alone and begins.position < load.position))
        return table.is_partitioned or is_last or load.snapshot.high > base

    found = []
    for load in passed:
        due = tuple(archived for archived in load.tables if archived.table.id in about and is_due(load, archived.table))
        found += [RestorePoint(load, due)] if due else []
    return tuple(found)
