"""Tables that a replay has brought up to a live target's position replace the target's own."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace

from airflow_ddlrepl.adapt.policy import policy_at
from airflow_ddlrepl.adapt.shape.wanted_shape import wanted_shape
from airflow_ddlrepl.engines.abilities.discarded_rows import DiscardsRows
from airflow_ddlrepl.engines.abilities.rewinds import Rewinds
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.source_catalog import ReadableTables
from airflow_ddlrepl.engines.target import ServerFacts, Target
from airflow_ddlrepl.errors import CannotRewind, DdlReplError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.refresh.row_origin import Chunk, RowOrigin, TableLoad
from airflow_ddlrepl.flow.refresh.source_rows import chunks_of
from airflow_ddlrepl.flow.refresh.table_loader import TableLoader
from airflow_ddlrepl.flow.rewind.route import RewindRoute
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import claim
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.flow.snapshots.archive import tables_at
from airflow_ddlrepl.integrate.steps.discarded_row import DiscardedRow
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.model.target_columns import history_columns


def as_target(run: RunContext, target: str) -> RunContext:
    """Return a copy of the run in which the channel's first replay has the policies of a live target."""
    found = copy(run)
    found.channel = run.channel.with_replay_like(target)
    return found


def position_of_target(run: RunContext, target: str, moment: Position) -> Position:
    """Return a live target's position. Raises DdlReplError REW-106 when it is before the moment to go back to."""
    high = run.target(target).state().lsn
    if high < moment:
        raise DdlReplError(
            f"target {target} has not reached {moment} yet: it is at {high}",
            code="REW-106",
            at=high,
            hint="run `ddlrepl replicate` first; a control may stop it (`ddlrepl controls`)",
        )
    return high


def left_out(run: RunContext, high: Position) -> frozenset[int]:
    """Return the ids of tables whose rows the log does not have: they stay as they are."""
    unlogged = {i for i, table in tables_at(run, high).items() if table.unlogged}
    membership = run.source.membership
    return frozenset(unlogged | set(membership.unpublished_reasons()) | membership.bystanders())


def reinstate(run: RunContext, target: str, replay: str, way: RewindRoute) -> dict[str, int]:
    """Exchange the target's tables, each at once, with everything that hangs on it; return the rows by table.

    A table that the target has dropped, and that the policies of today keep, comes back.
    Raises CannotRewind REW-107 for a partitioned table that would get other columns, REW-108 for one that does not
    follow the source's, and what a refresh raises.
    """
    claim(run, target)
    built_at = run.target(replay)
    with run.target(target).loading(run.token) as loader:
        before = run.target(target).state().table_states
        built = built_at.state().table_states
        wanted = {i: table_state for i, table_state in built.items() if _is_exchanged(table_state, before, way)}
        come = _at_target(run, target, replay, wanted, way)
        after = {
            i: _beside(run, target, way, loader.facts, table_state, before.get(i)) for i, table_state in come.items()
        }
        _refuse_other_parents(before, after)
        _refuse_left_alone(run, target, before, after, way)
        names = {i: table_state.name for i, table_state in wanted.items()}
        with able(built_at, Rewinds).snapshot(list(names.values()), run.token) as place:
            nothing = {i: replace(one, state=TableStatus.NEW) for i, one in after.items() if i not in before}
            left = {i: _discarded(built_at, one) for i, one in wanted.items()}
            loads = {i: TableLoad(one.shape, after[i], one.shape, discarded=left[i]) for i, one in come.items()}
            origin = BuiltTables(place, names, loads, run.runner.parallelism)
            placed = TableLoader(run, target, loader, origin, {**nothing, **before}).run()
    reach("rewind.placed")
    record(run, target)
    _tell_differences(run, target, replay, [table_state.table_id for table_state, _ in placed])
    return {str(table_state.name): rows for table_state, rows in placed}


def _discarded(built_at: Target, table_state: TableState) -> Sequence[DiscardedRow]:
    """Return the rows that the replay has discarded of a table: the target does not have them either."""
    discards = table_state.settings.columns.discards
    return able(built_at, DiscardsRows).discarded_rows.all_of(table_state.table_id) if discards else ()


def _tell_differences(run: RunContext, target: str, replay: str, table_ids: Container[int]) -> None:
    """Record what a policy, or the capture, left out during the replay: it is missing at the target now."""
    for row in run.repository.declined_refreshes(run.channel.name, replay):
        if row.table_id in table_ids:
            about = (row.table_id, row.reason, row.requested_at)
            run.repository.decline_refresh(run.channel.name, run.token, target, *about)


def _is_exchanged(table_state: TableState, before: Mapping[int, TableState], way: RewindRoute) -> bool:
    """Is the table exchanged? It is if it is wanted, or was dropped since and the target has nothing of it any more.

    A table with a row per change is not: what happened stays, and the target's has more of it.
    """
    if history_columns(table_state.shape) is not None:
        log.warning("%s has a row per change, and stays as it is", table_state.name)
        return False
    if table_state.state is TableStatus.ORPHANED:
        return table_state.table_id not in before
    return table_state.state is TableStatus.LIVE and table_state.table_id in way.names


def _at_target(
    run: RunContext, target: str, replay: str, wanted: Mapping[int, TableState], way: RewindRoute
) -> dict[int, TableState]:
    """Return the replay's tables under their names at the target."""
    channel = as_target(run, target).channel
    last = _last_names(way)
    names: dict[int, TableName] = {}
    for table_id, table_state in wanted.items():
        names[table_id] = channel.at(target).target_name(last[table_id])
        if channel.at(replay).target_name(last[table_id]) != table_state.name:  # kept, and gone aside
            names[table_id] = names[table_id]._replace(name=table_state.name.name)
    found = {}
    for table_id, table_state in wanted.items():
        part = table_state.shape.partition
        moved = replace(part, of_name=names.get(part.of, part.of_name)) if part else None
        shape = table_state.shape.with_(name=names[table_id], partition=moved)
        found[table_id] = TableState(table_id, names[table_id], shape, table_state.state, settings=table_state.settings)
    return found


def _beside(
    run: RunContext, target: str, way: RewindRoute, facts: ServerFacts, comes: TableState, now: TableState | None
) -> TableState:
    """Return the table's state after the exchange: what the policies retain of the existing one stays.

    A type of an extension that only the target has was text in the replay.
    """
    theirs = {column.id: column for shape in way.shapes if shape.id == comes.table_id for column in shape.columns}

    def own(column: Column) -> Column:
        of = theirs.get(column.id)
        if of is None or column.type != facts.type_system.text or of.type.extension not in facts.extensions:
            return column
        return replace(column, type=of.type, collation=of.collation)

    shape = comes.shape.with_(columns=tuple(map(own, comes.shape.columns)))
    policy = policy_at(run.channel.at(target), _last_names(way)[comes.table_id])
    return replace(
        comes, shape=wanted_shape(now.shape, shape, policy, facts.type_system) if now and policy.adapts else shape
    )


def _last_names(way: RewindRoute) -> dict[int, TableName]:
    """Return the names of the tables at the source, or their last ones there."""
    return {**{shape.id: shape.name for shape in way.shapes}, **way.names}


def _refuse_other_parents(before: Mapping[int, TableState], after: Mapping[int, TableState]) -> None:
    """Raise CannotRewind REW-107 where a partitioned table would get other columns: its partitions go one by one."""
    for table_id, table_state in after.items():
        now = before.get(table_id)
        if now is not None and table_state.shape.is_partitioned and now.shape.columns != table_state.shape.columns:
            raise CannotRewind(
                f"the partitioned table {table_state.name} would get other columns than it has at the target",
                code="REW-107",
                table=table_state.name,
                hint="nothing was changed at the target; the table as it would be stands in the replay now:"
                " copy what is missing from there, or leave it out with --table",
            )


def _refuse_left_alone(
    run: RunContext, target: str, before: Mapping[int, TableState], after: Mapping[int, TableState], way: RewindRoute
) -> None:
    """Raise CannotRewind REW-108 where a table that does not follow the source's would get other columns."""
    for table_id, name in way.names.items():
        now, then = before.get(table_id), after.get(table_id)
        if now and then and now.shape.columns != then.shape.columns:
            if policy_at(run.channel.at(target), name).adapts:
                continue
            raise CannotRewind(
                f"{name} at target {target} does not follow the source's schema changes, and would get other columns",
                code="REW-108",
                table=name,
                hint="nothing was changed at the target: copy what is missing from the replay, or leave the table out"
                " with --table; an AdaptDDL action on both sides lets it follow",
            )


@dataclass
class BuiltTables(RowOrigin):
    """Tables that a rewind has built are the origin of a refresh: they hold what the target is to have, and no more.

    place: has their rows. names: of the tables there; loads: what is loaded of each; both by the source's ids.
    """

    place: ReadableTables
    names: Mapping[int, TableName]
    loads: Mapping[int, TableLoad]
    parallelism: int

    @property
    def tables(self) -> Sequence[Table]:
        return [load.table for load in self.loads.values()]

    @property
    def sizes(self) -> Mapping[int, int]:
        there = self._there()
        return {i: self.place.sizes[there[i].id] if i in there else 0 for i in self.names}

    def _there(self) -> dict[int, Table]:
        """Return the built tables as they are in their place, without partitioned ones that are views there."""
        by_name = {table.name: table for table in self.place.tables}
        parents = {i for i, load in self.loads.items() if load.table.is_partitioned}
        return {i: by_name[name] for i, name in self.names.items() if name in by_name or i not in parents}

    def load_of(self, table: Table) -> TableLoad:
        return self.loads[table.id]

    @contextmanager
    def chunks(self, loads: Sequence[TableLoad]) -> Iterator[Sequence[Chunk]]:
        there = self._there()
        yield chunks_of(self.place, [(load, there[load.table.id]) for load in loads], self.parallelism)
