"""Refresh: load the tables that wait for it under one snapshot of the source; integrate goes on from exactly there."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.adapt.plan.plan import target_shape
from airflow_ddlrepl.adapt.policy import policy_at
from airflow_ddlrepl.adapt.program.program import Standing, State
from airflow_ddlrepl.adapt.shape.partitions import joined
from airflow_ddlrepl.adapt.shape.target_shape import become_text
from airflow_ddlrepl.adapt.shape.type_changes import renewed
from airflow_ddlrepl.adapt.shape.wanted_shape import want
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.config.sections.refresh_options import BULK, RefreshOptions
from airflow_ddlrepl.engines.postgres.catalog.server_facts import Present
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.lock_retry import patiently
from airflow_ddlrepl.engines.postgres.ddl.render import PostgresDdl
from airflow_ddlrepl.engines.postgres.load.load_chunk import LoadTask, forget_marks, load_chunks
from airflow_ddlrepl.engines.postgres.load.swap import (
    SCHEMA,
    FinishTask,
    finish_shadow,
    finish_sql,
    make_shadow,
    place_parent,
    put_in_place,
    renew_types,
)
from airflow_ddlrepl.engines.postgres.log.capture_range import binary_safe
from airflow_ddlrepl.engines.postgres.source.exported_snapshot import PAGE_BYTES, Exported, exported
from airflow_ddlrepl.engines.postgres.target import state
from airflow_ddlrepl.engines.postgres.target.cleanup import sweep
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.capture.log_continuity import follow
from airflow_ddlrepl.flow.mapping.existing_tables import refuse_foreign
from airflow_ddlrepl.flow.mapping.row_filters import require_restrictable, rows_wanted
from airflow_ddlrepl.flow.mapping.tables import read_for, same_name, seen_at
from airflow_ddlrepl.flow.mapping.value_functions import require_transformable, transform_at
from airflow_ddlrepl.flow.refresh.periodic_reload import ask_for_reload, is_reload_due
from airflow_ddlrepl.flow.refresh.readiness import in_step, namesake
from airflow_ddlrepl.flow.refresh.requests import ask, options_of, targets_at_once
from airflow_ddlrepl.flow.run.context import Cycle, log
from airflow_ddlrepl.flow.run.disk_space import needing
from airflow_ddlrepl.flow.run.fencing import claim, writing
from airflow_ddlrepl.flow.run.isolation import Apart
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.flow.run.results import Refreshed
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.snapshots.archive import save
from airflow_ddlrepl.flow.targets.readiness import has_new_target, prepared_targets, ready_targets
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Lsn
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.refresh.chunks import Chunk, cut, pages_of, together
from airflow_ddlrepl.repository.rows import RefreshRow
from airflow_ddlrepl.transform.values import Transform, only

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection


@stage("refresh")
def refresh(cycle: Cycle, patterns: Sequence[str] = (), options: RefreshOptions = BULK) -> Refreshed:
    """Load every table that waits, and those that match a `schema.table` pattern (of the source).

    options: for the tables that match; the others are loaded as their actions' refresh_options say.
    """
    started = time.monotonic()
    rows: dict[str, int] = {}
    reasons: dict[str, str] = {}
    follow(cycle)
    asked: dict[str, dict[int, RefreshRow]] = {}
    apart = Apart()
    for target in prepared_targets(cycle):
        with apart.one(target.name):
            record(cycle, target.name)
            if patterns:
                ask(cycle, target.name, patterns, options)
            ask_for_reload(cycle, target.name)
            waiting = cycle.repository.pending_refreshes(cycle.channel.name, target.name)
            asked[target.name] = {row.table_id: row for row in waiting}
    for name, loaded in _each(cycle, asked):
        with apart.one(name):
            for standing, count in loaded():
                rows[str(standing.name)] = count
                row = asked[name].get(standing.table_id)
                reasons[str(standing.name)] = row.reason if row else ""
            reach("refresh.placed")
            record(cycle, name)
    apart.end()
    return Refreshed(rows, reasons, round(time.monotonic() - started, 2))


def is_waiting(cycle: Cycle) -> bool:
    """Does any table wait for a refresh, or is a target new?"""
    cycle.captured()
    if has_new_target(cycle):
        return True
    for target in ready_targets(cycle):
        with session(cycle.target_dsn(target.name)) as connection:
            if state.is_waiting(connection, cycle.channel.name):
                return True
    return False


def has_loads(cycle: Cycle) -> bool:
    """Would a refresh load anything?"""
    return is_waiting(cycle) or is_reload_due(cycle)


def _pending(standings: Mapping[int, Standing]) -> dict[int, Standing]:
    return {i: s for i, s in standings.items() if s.state in state.WAITING}


Done = list[tuple[Standing, int]]


def _each(cycle: Cycle, asked: Mapping[str, Mapping[int, RefreshRow]]) -> list[tuple[str, Callable[[], Done]]]:
    """What loads each target, or has done so: several at a time where a table's options say so. asked: by table."""
    saved = _Saved()
    loads = [(name, partial(_refresh_target, cycle, name, saved, asked[name])) for name in asked]
    at_once = min(targets_at_once(cycle, asked), len(asked))
    if at_once <= 1:
        return list(loads)
    with ThreadPoolExecutor(at_once) as pool:
        return [(name, pool.submit(load).result) for name, load in loads]


@dataclass
class _Saved:
    """Ids of tables that this run has kept in the trail: each once, whichever target comes first."""

    ids: set[int] = field(default_factory=set)
    turn: Lock = field(default_factory=Lock)

    def save(self, cycle: Cycle, source: Exported, position: Lsn, target: str) -> None:
        with self.turn:
            save(cycle, source, position, target, self.ids)
            self.ids |= {table.id for table in source.tables}


def _refresh_target(cycle: Cycle, target: str, saved: _Saved, asked: Mapping[int, RefreshRow]) -> Done:
    """asked: by table."""
    claim(cycle, target)
    with writing(cycle, target) as connection:
        if not state.is_waiting(connection, cycle.channel.name):
            return []
        now = state.read_state(connection, cycle.channel.name)
        with exported(cycle.source_dsn, list(_pending(now.standings)), cycle.timeline) as source:
            saved.save(cycle, source, now.lsn, target)
            options = {t.id: options_of(cycle, target, t.name, asked.get(t.id)) for t in source.tables}
            here = replace(source, tables=tuple(in_step(cycle, target, now.lsn, now.standings, source.tables)))
            return Refresh(cycle, target, connection, here, now.standings, options=options).run()


@dataclass
class Refresh:
    """One target's refresh of some tables under one snapshot. options: by table; a bulk load where there are none."""

    cycle: Cycle
    into: str
    connection: Connection[Any]
    source: Exported
    standings: Mapping[int, Standing]
    options: Mapping[int, RefreshOptions] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        self.target = self.cycle.channel.target(self.into)
        self.holder = self.cycle.channel.holder(self.into)
        self.present = Present(self.connection)
        self.wanted = {t.id: self.rows_wanted(t) for t in self.source.tables}
        self.after = {t.id: self._after(t) for t in self.source.tables}
        self.transforms = {t.id: self._transform(t) for t in self.source.tables}

    def run(self) -> list[tuple[Standing, int]]:
        for table in self.source.tables:
            self._refuse_foreign(table)
        sweep(self.connection, shadow_stem(self.holder), self.cycle.token)
        parents = [t for t in self.source.tables if t.is_partitioned]
        leaves = [t for t in self.source.tables if not t.is_partitioned]
        done: list[tuple[Standing, int]] = []
        for table in sorted(parents, key=lambda t: _depth(t, self.source.tables)):
            self.cycle.check_lock()
            place_parent(
                self.connection,
                self.holder,
                self.after[table.id],
                epoch=self.cycle.epoch,
                token=self.cycle.token,
                stood=self.stood(table),
            )
            done.append((self.after[table.id], 0))
        self.cycle.check_lock()
        renew_types(self.connection, self._renewed(leaves))
        for table in leaves:
            make_shadow(self.connection, self.shadow_shape(table), self.shadow(table))
        reach("refresh.shadow")
        counts = self._load(leaves)
        reach("refresh.loaded")
        self._place(leaves, counts)
        forget_marks(self.connection)
        return done + [(self.after[table.id], counts[table.id]) for table in leaves]

    def _renewed(self, tables: Sequence[Table]) -> list[str]:
        """What brings types up to date, each statement once. One that does not stand yet comes with its tables."""
        shapes = [*(standing.shape for standing in self.standings.values()), *(s.shape for s in self.after.values())]
        there = self.present.types({TableName(of.schema, of.name) for shape in shapes for of in shape.types})
        known = {of.oid: of for standing in self.standings.values() for of in standing.shape.types}
        render, found = PostgresDdl(self.present.version), list[str]()
        for table in tables:
            own = {of.oid: of for of in self.standings[table.id].shape.types}
            found += renewed(self.after[table.id].shape, known | own, there, render)
        return list(dict.fromkeys(found))

    def _place(self, tables: Sequence[Table], counts: Mapping[int, int]) -> None:
        """A table that can't be placed is in nobody's way. It may be when others are: partitions that change bounds."""
        dsn = self.cycle.target_dsn(self.target.name)
        refused: dict[int, CannotAdapt] = {}
        for table in tables:
            self.cycle.check_lock()
            try:
                how = patiently(self._placer(table, counts[table.id]), self.connection, dsn)
                log.info("refreshed %s: %d rows, %s", table.name, counts[table.id], how)
            except CannotAdapt as error:
                refused[table.id] = error
        if refused and len(refused) == len(tables):
            raise next(iter(refused.values()))
        if refused:
            self._place([table for table in tables if table.id in refused], counts)

    def _after(self, table: Table) -> Standing:
        name = self.cycle.channel.target_name(self.into, table.name)
        parent = self.standings.get(table.partition.of) if table.partition else None
        facts = TargetFacts(
            name_after=name,
            server_version=self.present.version,
            extensions=self.present.extensions,
            parent=parent.name if parent else None,
            has_parent=parent is not None or table.partition is None,
        )
        channel = self.cycle.channel
        seen = seen_at(channel, self.into, table)
        held = target_shape(seen, facts=facts)
        for why in become_text(seen, held):
            log.warning("%s", why)
        policy = policy_at(channel, self.target.name, table.name)
        shape = want(self.standings[table.id].shape, held, policy)
        if parent is not None and all(parent.table_id != one.id for one in self.source.tables):
            shape = joined(shape, parent.shape)
        name, said = name if policy.adapts else shape.name, channel.properties_at(self.into, table.name)
        return Standing(table.id, name, shape, State.LIVE, self.source.snapshot, said)

    def rows_wanted(self, table: Table) -> str:
        """Which of the source's rows are loaded, as SQL; empty: all. Raises what `require_restrictable` raises."""
        require_restrictable(self.cycle.channel, self.into, [table], self.connection)
        return rows_wanted(self.cycle.channel, self.into, table)

    def transform(self, table: Table) -> Transform | None:
        """What gives values of the rows that are loaded. Raises what `require_transformable` raises."""
        require_transformable(self.cycle.channel, self.into, [table])
        return transform_at(self.cycle.channel, self.into, table)

    def stood(self, table: Table) -> Table | None:
        """The shape that the channel has given the target's table."""
        before = self.standings[table.id]
        return None if before.state is State.NEW else before.shape

    def read(self, table: Table) -> Table:
        """What of the source's table is loaded."""
        return read_for(self.cycle.channel, self.into, table)

    def _refuse_foreign(self, table: Table) -> None:
        """A table with rows that this channel has never filled, or another one of its tables, is none to overwrite."""
        name = self.after[table.id].name
        if self.standings[table.id].state is not State.NEW:
            return
        others = [other for other in self.standings.values() if other.name == name and other.table_id != table.id]
        if any(other.state is State.KEPT for other in others):  # it is used again
            return
        for other in others:
            if known := namesake(self.cycle, self.into, table, other):
                raise same_name(name, known, table.name)
        refuse_foreign(self.target, self.present, name, table.name)

    def shadow(self, table: Table) -> TableName:
        return TableName(SCHEMA, f"{shadow_stem(self.holder)}{self.cycle.token}_{table.id}")

    def shadow_shape(self, table: Table) -> Table:
        """The shadow table's columns while it is loaded."""
        return self.after[table.id].shape

    def finish(self, table: Table) -> tuple[str, ...]:
        """What the loaded shadow table still needs."""
        return finish_sql(self.after[table.id].shape, self.shadow(table))

    def _load(self, tables: Sequence[Table]) -> dict[int, int]:
        pages = {table.id: self.source.pages[table.id] for table in tables}
        work = self.work(tables)
        often = Counter(table.id for table, _, _ in work)
        counts = dict.fromkeys(pages, 0)
        size = sum(pages.values()) * PAGE_BYTES
        tasks = [  # a table that is one chunk is finished with it
            replace(task, after=self.finish(table)) if often[table.id] == 1 else task for table, _, task in work
        ]
        groups = together([share for _, share, _ in work], self.cycle.runner.parallelism)
        bundles = [tuple(tasks[place] for place in group) for group in groups]
        with needing(size, f"of the source's tables are loaded into target {self.target.name}"):
            loaded = self.cycle.runner.map(load_chunks, bundles, "refresh", size=size)
        for group, found in zip(groups, loaded, strict=True):
            for place, count in zip(group, found, strict=True):
                counts[work[place][0].id] += count
        large = [table for table in tables if often[table.id] > 1]
        dsn = self.cycle.target_dsn(self.target.name)
        rest = [FinishTask(dsn, self.after[t.id].name, self.shadow(t), self.finish(t)) for t in large]
        with ThreadPoolExecutor(max(1, self.cycle.runner.parallelism)) as pool:  # the target works, we wait
            list(pool.map(finish_shadow, rest))
        return counts

    def work(self, tables: Sequence[Table]) -> list[tuple[Table, int, LoadTask]]:
        """Each chunk: its table, its pages, the task that loads it."""
        by_id = {t.id: t for t in tables}
        pages = {i: n for i, n in self.source.pages.items() if i in by_id}
        chunks = cut(pages, self.cycle.runner.parallelism)
        return [(by_id[c.table_id], pages_of(c, pages), self._task(by_id[c.table_id], c)) for c in chunks]

    def _task(self, table: Table, chunk: Chunk) -> LoadTask:
        loaded, transform = self._loaded(table), self.transforms[table.id]
        is_alike = all(theirs.type.text == ours.type.text for theirs, ours in loaded)
        return LoadTask(
            source_dsn=self.cycle.source_dsn,
            target_dsn=self.cycle.target_dsn(self.target.name),
            snapshot=self.source.name,
            table=table.name,
            shadow=self.shadow(table),
            columns=tuple((theirs.name, ours.name) for theirs, ours in loaded),
            low_page=chunk.low,
            high_page=chunk.high,
            token=str(self.cycle.token),
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
        return only(self.transform(table), [theirs.name for theirs, _ in self._loaded(table)])

    def _placer(self, table: Table, rows: int) -> Callable[[], str]:
        standing = self.after[table.id]
        before = self.standings[table.id]
        ids = {c.id for c in self.read(table).columns}
        kept = [c.name for c in standing.shape.columns if c.id not in ids]

        def place() -> str:
            return put_in_place(
                self.connection,
                self.holder,
                standing,
                self.shadow(table),
                rows,
                previous=standing.name if before.state is State.NEW else before.name,
                epoch=self.cycle.epoch,
                token=self.cycle.token,
                kept=kept,
                stood=self.stood(table),
                options=self.options.get(table.id, BULK),
            )

        return place


def _depth(table: Table, tables: Sequence[Table]) -> int:
    """How many partitioned tables stand above it."""
    by_id = {t.id: t for t in tables}
    depth, at = 0, table
    while at.partition is not None and at.partition.of in by_id:
        depth, at = depth + 1, by_id[at.partition.of]
    return depth


def shadow_stem(channel: str) -> str:
    """How the names of a channel's shadow tables begin."""
    return f"r_{hashlib.sha256(channel.encode()).hexdigest()[:12]}_"
