"""Refresh: load the tables that wait for it under one snapshot of the source; integrate goes on from exactly there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock

from airflow_ddlrepl.adapt.plan.plan import target_shape
from airflow_ddlrepl.adapt.policy import policy_at
from airflow_ddlrepl.adapt.shape.partitions import joined
from airflow_ddlrepl.adapt.shape.target_shape import become_text
from airflow_ddlrepl.adapt.shape.type_changes import renewed
from airflow_ddlrepl.adapt.shape.wanted_shape import want
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.config.condition.expression import Part
from airflow_ddlrepl.config.sections.refresh_options import BULK, RefreshOptions
from airflow_ddlrepl.engines.loading import FinishTask, LoadTask, Work, load_tables
from airflow_ddlrepl.engines.postgres.log.capture_range import binary_safe
from airflow_ddlrepl.engines.source import SourceSnapshot
from airflow_ddlrepl.engines.target import Loader
from airflow_ddlrepl.engines.target_state import WAITING, Placing
from airflow_ddlrepl.errors import CannotAdapt, TargetError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.capture.log_continuity import follow
from airflow_ddlrepl.flow.mapping.existing_tables import refuse_foreign
from airflow_ddlrepl.flow.mapping.row_filters import condition_at, require_restrictable
from airflow_ddlrepl.flow.mapping.tables import read_for, same_name, seen_at
from airflow_ddlrepl.flow.mapping.value_functions import require_transformable, transform_at
from airflow_ddlrepl.flow.refresh.periodic_reload import ask_for_reload, is_reload_due
from airflow_ddlrepl.flow.refresh.readiness import in_step, namesake
from airflow_ddlrepl.flow.refresh.requests import ask, options_of, targets_at_once
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.disk_space import needing
from airflow_ddlrepl.flow.run.fencing import claim
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.flow.run.results import Refreshed
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.snapshots.archive import save
from airflow_ddlrepl.flow.targets.readiness import has_new_target, prepared_targets, ready_targets
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.refresh.chunks import PAGE_BYTES, Chunk, cut_chunks, pages_of
from airflow_ddlrepl.repository.rows import RefreshRow
from airflow_ddlrepl.transform.values import Transform, for_columns


@stage("refresh")
def refresh(context: RunContext, patterns: Sequence[str] = (), options: RefreshOptions = BULK) -> Refreshed:
    """Load every table that waits, and those that match a `schema.table` pattern (of the source).

    options: for the tables that match; the others are loaded as their actions' refresh_options say.
    """
    started = time.monotonic()
    rows: dict[str, int] = {}
    reasons: dict[str, str] = {}
    follow(context)
    asked: dict[str, dict[int, RefreshRow]] = {}
    isolation = FailureIsolation()
    for target in prepared_targets(context):
        with isolation.one(target.name):
            record(context, target.name)
            if patterns:
                ask(context, target.name, patterns, options)
            ask_for_reload(context, target.name)
            waiting = context.repository.pending_refreshes(context.channel.name, target.name)
            asked[target.name] = {row.table_id: row for row in waiting}
    for name, loaded in _each(context, asked):
        with isolation.one(name):
            done, refused = loaded()
            for table_state, count in done:
                rows[str(table_state.name)] = count
                row = asked[name].get(table_state.table_id)
                reasons[str(table_state.name)] = row.reason if row else ""
            reach("refresh.placed")
            record(context, name)
            for error in refused:
                with isolation.one(name):
                    raise error
    isolation.end()
    return Refreshed(rows, reasons, round(time.monotonic() - started, 2))


def is_waiting(context: RunContext) -> bool:
    """Does any table wait for a refresh, or is a target new?"""
    context.captured()
    if has_new_target(context):
        return True
    return any(context.target(target.name).is_waiting() for target in ready_targets(context))


def has_loads(context: RunContext) -> bool:
    """Would a refresh load anything?"""
    return is_waiting(context) or is_reload_due(context)


def _pending(table_states: Mapping[int, TableState]) -> dict[int, TableState]:
    return {i: s for i, s in table_states.items() if s.state in WAITING}


Done = tuple[list[tuple[TableState, int]], list[TargetError]]
"""Tables that were loaded, each with its rows; and why others were not."""


def _each(context: RunContext, asked: Mapping[str, Mapping[int, RefreshRow]]) -> list[tuple[str, Callable[[], Done]]]:
    """What loads each target, or has done so: several at a time where a table's options say so. asked: by table."""
    saved = _Saved()
    loads = [(name, partial(_refresh_target, context, name, saved, asked[name])) for name in asked]
    at_once = min(targets_at_once(context, asked), len(asked))
    if at_once <= 1:
        return list(loads)
    with ThreadPoolExecutor(at_once) as pool:
        return [(name, pool.submit(load).result) for name, load in loads]


@dataclass
class _Saved:
    """Ids of tables that this run has kept in the trail: each once, whichever target comes first."""

    ids: set[int] = field(default_factory=set)
    turn: Lock = field(default_factory=Lock)

    def save(self, context: RunContext, source: SourceSnapshot, position: Position, target: str) -> None:
        with self.turn:
            save(context, source, position, target, self.ids)
            self.ids |= {table.id for table in source.tables}


def _refresh_target(context: RunContext, target: str, saved: _Saved, asked: Mapping[int, RefreshRow]) -> Done:
    """asked: by table."""
    claim(context, target)
    place = context.target(target)
    if not place.is_waiting():
        return [], []
    with place.loading(context.token) as loader:
        now = place.state()
        with context.source.snapshot(list(_pending(now.table_states)), context.timeline) as source:
            saved.save(context, source, now.lsn, target)
            options = {t.id: options_of(context, target, t.name, asked.get(t.id)) for t in source.tables}
            here = replace(source, tables=tuple(in_step(context, target, now.lsn, now.table_states, source.tables)))
            refused: list[TargetError] = []
            states = now.table_states
            done = Refresh(context, target, loader, here, states, options=options, refused=refused).run()
            return done, refused


@dataclass
class Refresh:
    """One target's refresh of some tables under one snapshot. options: by table; a bulk load where there are none.

    refused: takes the errors of tables that the target can't load, while the others go on; None: the first is raised.
    """

    context: RunContext
    into: str
    loader: Loader
    source: SourceSnapshot
    table_states: Mapping[int, TableState]
    options: Mapping[int, RefreshOptions] = field(default_factory=dict, kw_only=True)
    refused: list[TargetError] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.target = self.context.channel.target(self.into)
        self.holder = self.context.channel.holder(self.into)
        self.present = self.loader.facts
        self.renderer = self.context.target(self.into).renderer()
        self.wanted = {t.id: self.rows_wanted(t) for t in self.source.tables}
        self.after = {t.id: self._after(t) for t in self.source.tables}
        self.transforms = {t.id: self._transform(t) for t in self.source.tables}

    def run(self) -> list[tuple[TableState, int]]:
        """Load all tables and put them in their places; return the state and the number of rows of each."""
        for table in self.source.tables:
            self._refuse_foreign(table)
        self.context.target(self.into).sweep(self.context.token)
        parents = [t for t in self.source.tables if t.is_partitioned]
        leaves = [t for t in self.source.tables if not t.is_partitioned]
        done: list[tuple[TableState, int]] = []
        for table in sorted(parents, key=lambda t: _depth(t, self.source.tables)):
            self.context.check_lock()
            self.loader.place_parent(self.after[table.id], self.stood(table), self.context.fence)
            done.append((self.after[table.id], 0))
        self.context.check_lock()
        self.loader.renew_types(self._renewed(leaves))
        for table in leaves:
            self.loader.make_shadow(self.shadow_shape(table), self.shadow(table))
        reach("refresh.shadow")
        counts = self._load(leaves)
        reach("refresh.loaded")
        loaded = [table for table in leaves if table.id in counts]
        self._place(loaded, counts)
        self.loader.end()
        return done + [(self.after[table.id], counts[table.id]) for table in loaded]

    def _renewed(self, tables: Sequence[Table]) -> list[str]:
        """What brings types up to date, each statement once. One that does not stand yet comes with its tables."""
        shapes = [one.shape for one in (*self.table_states.values(), *self.after.values())]
        there = self.present.types({TableName(of.schema, of.name) for shape in shapes for of in shape.types})
        known = {of.oid: of for table_state in self.table_states.values() for of in table_state.shape.types}
        found = list[str]()
        for table in tables:
            own = {of.oid: of for of in self.table_states[table.id].shape.types}
            found += renewed(self.after[table.id].shape, known | own, there, self.renderer)
        return list(dict.fromkeys(found))

    def _place(self, tables: Sequence[Table], counts: Mapping[int, int]) -> None:
        """A table that can't be placed is in nobody's way. It may be when others are: partitions that change bounds."""
        refused: dict[int, CannotAdapt] = {}
        for table in tables:
            self.context.check_lock()
            try:
                how = self.loader.put_in_place(self._placing(table, counts[table.id]), self.context.fence)
                log.info("refreshed %s: %d rows, %s", table.name, counts[table.id], how)
            except CannotAdapt as error:
                refused[table.id] = error
        if refused and len(refused) == len(tables):
            raise next(iter(refused.values()))
        if refused:
            self._place([table for table in tables if table.id in refused], counts)

    def _after(self, table: Table) -> TableState:
        name = self.context.channel.target_name(self.into, table.name)
        parent = self.table_states.get(table.partition.of) if table.partition else None
        facts = TargetFacts(
            name_after=name,
            server_version=self.present.version,
            extensions=self.present.extensions,
            parent=parent.name if parent else None,
            has_parent=parent is not None or table.partition is None,
        )
        channel = self.context.channel
        seen = seen_at(channel, self.into, table)
        held = target_shape(seen, facts=facts)
        for why in become_text(seen, held):
            log.warning("%s", why)
        policy = policy_at(channel, self.target.name, table.name)
        shape = want(self.table_states[table.id].shape, held, policy)
        if parent is not None and all(parent.table_id != one.id for one in self.source.tables):
            shape = joined(shape, parent.shape)
        name, said = name if policy.adapts else shape.name, channel.properties_at(self.into, table.name)
        return TableState(table.id, name, shape, TableStatus.LIVE, self.source.snapshot, said)

    def rows_wanted(self, table: Table) -> Part | None:
        """What is true for the source's rows that are loaded; None: all. Raises what `require_restrictable` raises."""
        require_restrictable(self.context.channel, self.into, [table], self.context.target(self.into).check_condition)
        return condition_at(self.context.channel, self.into, table)

    def transform(self, table: Table) -> Transform | None:
        """What gives values of the rows that are loaded. Raises what `require_transformable` raises."""
        require_transformable(self.context.channel, self.into, [table])
        return transform_at(self.context.channel, self.into, table)

    def stood(self, table: Table) -> Table | None:
        """The shape that the channel has given the target's table."""
        before = self.table_states[table.id]
        return None if before.state is TableStatus.NEW else before.shape

    def read(self, table: Table) -> Table:
        """What of the source's table is loaded."""
        return read_for(self.context.channel, self.into, table)

    def _refuse_foreign(self, table: Table) -> None:
        """A table with rows that this channel has never filled, or another one of its tables, is none to overwrite."""
        name = self.after[table.id].name
        if self.table_states[table.id].state is not TableStatus.NEW:
            return
        others = [other for other in self.table_states.values() if other.name == name and other.table_id != table.id]
        if any(other.state is TableStatus.ORPHANED for other in others):  # it is used again
            return
        for other in others:
            if known := namesake(self.context, self.into, table, other):
                raise same_name(name, known, table.name)
        refuse_foreign(self.target, self.present, name, table.name)

    def shadow(self, table: Table) -> TableName:
        """Return the name of the shadow table that a table is loaded into."""
        return self.loader.shadow(table.id)

    def shadow_shape(self, table: Table) -> Table:
        """The shadow table's columns while it is loaded."""
        return self.after[table.id].shape

    def finish(self, table: Table) -> tuple[str, ...]:
        """What the loaded shadow table still needs."""
        return self.loader.finishing(self.after[table.id].shape, self.shadow(table))

    def _load(self, tables: Sequence[Table]) -> dict[int, int]:
        size = sum(self.source.pages[table.id] for table in tables) * PAGE_BYTES
        dsn = self.context.target(self.into).location
        finishing = {t.id: FinishTask(dsn, self.after[t.id].name, self.shadow(t), self.finish(t)) for t in tables}
        with needing(size, f"of the source's tables are loaded into target {self.target.name}"):
            loads = load_tables(self.context.runner, self.work(tables), finishing, size)
        if self.refused is None:
            loads.raise_refused()
        else:
            self.refused += loads.refused.values()
        return loads.rows

    def work(self, tables: Sequence[Table]) -> list[Work]:
        """Return what each task loads: the chunks of all tables, largest tables first."""
        by_id = {t.id: t for t in tables}
        pages = {i: n for i, n in self.source.pages.items() if i in by_id}
        chunks = cut_chunks(pages, self.context.runner.parallelism)
        return [(by_id[c.table_id], pages_of(c, pages), self._task(by_id[c.table_id], c)) for c in chunks]

    def _task(self, table: Table, chunk: Chunk) -> LoadTask:
        loaded, transform = self._loaded(table), self.transforms[table.id]
        is_alike = all(theirs.type.text == ours.type.text for theirs, ours in loaded)
        return LoadTask(
            source_dsn=self.context.source_dsn,
            target_dsn=self.context.target(self.into).location,
            snapshot=self.source.name,
            table=table.name,
            shadow=self.shadow(table),
            columns=tuple((theirs.name, ours.name) for theirs, ours in loaded),
            low_page=chunk.low,
            high_page=chunk.high,
            token=str(self.context.token),
            chunk=f"{self.holder}/{table.id}/{chunk.number}",
            binary=transform is None and is_alike and binary_safe(table),
            wanted=self.wanted[table.id],
            transform=transform,
        )

    def _loaded(self, table: Table) -> list[tuple[Column, Column]]:
        """The source's columns that are loaded, each with the target's."""
        there = {c.id: c for c in self.read(table).columns}
        return [(there[c.id], c) for c in self.after[table.id].shape.columns if not c.generated and c.id in there]

    def _transform(self, table: Table) -> Transform | None:
        """Of columns that are not loaded nothing is to be given."""
        return for_columns(self.transform(table), [theirs.name for theirs, _ in self._loaded(table)])

    def _placing(self, table: Table, rows: int) -> Placing:
        table_state, before = self.after[table.id], self.table_states[table.id]
        ids = {c.id for c in self.read(table).columns}
        return Placing(
            table_state,
            self.shadow(table),
            rows,
            previous=table_state.name if before.state is TableStatus.NEW else before.name,
            keeps=[c.name for c in table_state.shape.columns if c.id not in ids],
            stood=self.stood(table),
            options=self.options.get(table.id, BULK),
        )


def _depth(table: Table, tables: Sequence[Table]) -> int:
    """How many partitioned tables stand above it."""
    by_id = {t.id: t for t in tables}
    depth, at = 0, table
    while at.partition is not None and at.partition.of in by_id:
        depth, at = depth + 1, by_id[at.partition.of]
    return depth
