"""Saving: what a refresh reads is kept in the trail as well, so that a replay has rows to begin from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from airflow_ddlrepl.adapt.shape.target_shape import valued
from airflow_ddlrepl.capture.enroll import valid_at
from airflow_ddlrepl.config.sections.channel import RewindHorizon
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.load.archive_chunk import SaveTask, save_chunks
from airflow_ddlrepl.engines.postgres.log.capture_range import binary_safe
from airflow_ddlrepl.engines.postgres.source.exported_snapshot import PAGE_BYTES, Exported, exported
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.run.context import Cycle, log
from airflow_ddlrepl.flow.run.disk_space import needing
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Lsn
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.refresh.chunks import Chunk, cut, pages_of, together
from airflow_ddlrepl.trail.loads import Load, LoadedTable, load_folder, load_name, publish, readable_loads, sweep_loads
from airflow_ddlrepl.trail.manifest import Blob


def save(cycle: Cycle, source: Exported, position: Lsn, why: str, but: Collection[int] = ()) -> None:
    """Keep the tables of the snapshot, where the channel has a `rewind_horizon`. but: ids of those kept already.

    position: everything that commits before it is in the snapshot. why: for the load's name.
    Raises SourceError SRC-172 when a type was changed meanwhile.
    """
    tables = [table for table in source.tables if table.id not in but]
    if cycle.channel.rewind_horizon is None or not tables:
        return
    taken = cycle.source.clock()
    sweep_loads(cycle.trail, cycle.epoch, cycle.token)
    name = load_name(position, cycle.token, why)
    leaves = {t.id: t for t in tables if not t.is_partitioned}
    chunks = cut({i: n for i, n in source.pages.items() if i in leaves}, cycle.runner.parallelism)
    size = sum(source.pages[i] for i in leaves) * PAGE_BYTES
    tasks = [_task(cycle, source, leaves[chunk.table_id], chunk, name) for chunk in chunks]
    groups = together([pages_of(chunk, source.pages) for chunk in chunks], cycle.runner.parallelism)
    work = [tuple(tasks[place] for place in group) for group in groups]
    with needing(size, "of the source's tables are kept in the trail"):
        results = cycle.runner.map(save_chunks, work, "keep the rows", size=size)
    done: dict[int, list[tuple[int, tuple[Blob, ...]]]] = {table.id: [] for table in tables}
    for group, given in zip(groups, results, strict=True):
        for place, one in zip(group, given, strict=True):
            done[chunks[place].table_id].append(one)
    found = tuple(_kept(table, done[table.id]) for table in tables)
    _require_labels(cycle, [table for table in tables if table.types])
    reach("save.written")
    cycle.check_lock()
    publish(cycle.trail, Load(cycle.epoch, name, position, source.snapshot, taken, found))
    log.info("kept %d tables in the trail, to go back to", len(found))


def _require_labels(cycle: Cycle, tables: Sequence[Table]) -> None:
    """A COPY calls the labels of an enum as they are called at that moment, whatever its snapshot shows."""
    now = {of.oid: of for table in inspect(cycle.source.connection, [t.id for t in tables]) for of in table.types}
    for table in tables:
        for of in table.types:
            if now.get(of.oid, of).labels != of.labels:
                raise SourceError(
                    f"the labels of {of.schema}.{of.name} were changed while its rows were kept",
                    code="SRC-172",
                    table=table.name,
                    hint="nothing is kept of them; the next run does it anew",
                    retryable=True,
                )


def _kept(table: Table, parts: Sequence[tuple[int, tuple[Blob, ...]]]) -> LoadedTable:
    names = tuple(c.name for c in valued(table))
    return LoadedTable(table, names, binary_safe(table), tuple(files for _, files in parts), sum(n for n, _ in parts))


def _task(cycle: Cycle, source: Exported, table: Table, chunk: Chunk, name: str) -> SaveTask:
    return SaveTask(
        source_dsn=cycle.source_dsn,
        snapshot=source.name,
        table=table.name,
        columns=tuple(c.name for c in valued(table)),
        low_page=chunk.low,
        high_page=chunk.high,
        binary=binary_safe(table),
        trail_url=cycle.channel.trail,
        channel=cycle.channel.name,
        stem=f"{load_folder(cycle.epoch, name)}/{table.id}-{chunk.number}",
    )


def renew(cycle: Cycle) -> None:
    """Keep every table anew when what is kept gets too old, or has too much log after it, for the horizon.

    A table that a schema change has locked puts it off to the next cycle.
    """
    horizon = cycle.channel.rewind_horizon
    if horizon is None:
        return
    kept = readable_loads(cycle.trail, cycle.epoch)
    whole = [load for load in kept if is_whole(cycle, load)]
    if whole and not _is_due(cycle, horizon, whole[-1]):
        return
    position = cycle.captured()
    try:
        with exported(cycle.source_dsn, list(standing_at(cycle, position)), cycle.timeline) as source:
            save(cycle, source, position, "again")
    except SourceError as error:
        if not error.retryable:
            raise
        log.warning("the tables are not kept anew for rewinds in this cycle: %s", error.message)


def is_whole(cycle: Cycle, load: Load) -> bool:
    """Does it hold every table of the channel that there was at its position?"""
    return {kept.table.id for kept in load.tables} >= standing_at(cycle, load.position).keys()


def standing_at(cycle: Cycle, position: Lsn) -> dict[int, Table]:
    """The channel's tables at a position, with their shapes then."""
    histories = cycle.repository.histories(cycle.channel.name)
    valid = {i: valid_at(known, LogKey(position, START_OF_TRANSACTION)) for i, known in histories.items()}
    return {i: revision.table for i, revision in valid.items() if revision is not None and revision.table is not None}


def _is_due(cycle: Cycle, horizon: RewindHorizon, newest: Load) -> bool:
    if horizon.age is not None and newest.created < datetime.now(UTC) - timedelta(seconds=horizon.age / 2):
        return True
    since = sum(row.bytes for row in cycle.live_segments() if row.high > newest.position)
    return horizon.size is not None and since > horizon.size / 2


def forgettable(cycle: Cycle, now: datetime) -> Lsn | None:
    """Before which position nothing is needed to go back as far as the horizon; None: everything may be."""
    horizon = cycle.channel.rewind_horizon
    if horizon is None or (horizon.age is None and horizon.size is None):
        return None
    segments = cycle.live_segments()
    for load in reversed(readable_loads(cycle.trail, cycle.epoch)):
        is_old = horizon.age is None or load.created < now - timedelta(seconds=horizon.age)
        is_far = horizon.size is None or sum(row.bytes for row in segments if row.high > load.position) > horizon.size
        if is_old and is_far and is_whole(cycle, load):
            return load.position
    return None
