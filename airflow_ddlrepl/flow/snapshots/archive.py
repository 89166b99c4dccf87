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
from airflow_ddlrepl.engines.postgres.source.exported_snapshot import PAGE_BYTES, SourceSnapshot, source_snapshot
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.disk_space import needing
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Lsn
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.refresh.chunks import Chunk, cut_chunks, group_chunks, pages_of
from airflow_ddlrepl.trail.loads import Load, LoadedTable, load_folder, load_name, publish, readable_loads, sweep_loads
from airflow_ddlrepl.trail.manifest import Blob


def save(run: RunContext, source: SourceSnapshot, position: Lsn, why: str, but: Collection[int] = ()) -> None:
    """Keep the tables of the snapshot, where the channel has a `rewind_horizon`. but: ids of those kept already.

    position: everything that commits before it is in the snapshot. why: for the load's name.
    Raises SourceError SRC-172 when a type was changed meanwhile.
    """
    tables = [table for table in source.tables if table.id not in but]
    if run.channel.rewind_horizon is None or not tables:
        return
    taken = run.source.clock()
    sweep_loads(run.trail, run.epoch, run.token)
    name = load_name(position, run.token, why)
    leaves = {t.id: t for t in tables if not t.is_partitioned}
    chunks = cut_chunks({i: n for i, n in source.pages.items() if i in leaves}, run.runner.parallelism)
    size = sum(source.pages[i] for i in leaves) * PAGE_BYTES
    tasks = [_task(run, source, leaves[chunk.table_id], chunk, name) for chunk in chunks]
    groups = group_chunks([pages_of(chunk, source.pages) for chunk in chunks], run.runner.parallelism)
    work = [tuple(tasks[place] for place in group) for group in groups]
    with needing(size, "of the source's tables are kept in the trail"):
        results = run.runner.map(save_chunks, work, "keep the rows", size=size)
    done: dict[int, list[tuple[int, tuple[Blob, ...]]]] = {table.id: [] for table in tables}
    for group, given in zip(groups, results, strict=True):
        for place, one in zip(group, given, strict=True):
            done[chunks[place].table_id].append(one)
    found = tuple(_kept(table, done[table.id]) for table in tables)
    _require_labels(run, [table for table in tables if table.types])
    reach("save.written")
    run.check_lock()
    publish(run.trail, Load(run.epoch, name, position, source.snapshot, taken, found))
    log.info("kept %d tables in the trail, to go back to", len(found))


def _require_labels(run: RunContext, tables: Sequence[Table]) -> None:
    """A COPY calls the labels of an enum as they are called at that moment, whatever its snapshot shows."""
    now = {of.oid: of for table in inspect(run.source.connection, [t.id for t in tables]) for of in table.types}
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


def _task(run: RunContext, source: SourceSnapshot, table: Table, chunk: Chunk, name: str) -> SaveTask:
    return SaveTask(
        source_dsn=run.source_dsn,
        snapshot=source.name,
        table=table.name,
        columns=tuple(c.name for c in valued(table)),
        low_page=chunk.low,
        high_page=chunk.high,
        binary=binary_safe(table),
        trail_url=run.channel.trail,
        channel=run.channel.name,
        stem=f"{load_folder(run.epoch, name)}/{table.id}-{chunk.number}",
    )


def renew(run: RunContext) -> None:
    """Keep every table anew when what is kept gets too old, or has too much log after it, for the horizon.

    A table that a schema change has locked puts it off to the next cycle.
    """
    horizon = run.channel.rewind_horizon
    if horizon is None:
        return
    kept = readable_loads(run.trail, run.epoch)
    whole = [load for load in kept if is_whole(run, load)]
    if whole and not _is_due(run, horizon, whole[-1]):
        return
    position = run.captured()
    try:
        with source_snapshot(run.source_dsn, list(tables_at(run, position)), run.timeline) as source:
            save(run, source, position, "again")
    except SourceError as error:
        if not error.retryable:
            raise
        log.warning("the tables are not kept anew for rewinds in this cycle: %s", error.message)


def is_whole(run: RunContext, load: Load) -> bool:
    """Does it hold every table of the channel that there was at its position?"""
    return {kept.table.id for kept in load.tables} >= tables_at(run, load.position).keys()


def tables_at(run: RunContext, position: Lsn) -> dict[int, Table]:
    """The channel's tables at a position, with their shapes then."""
    histories = run.repository.histories(run.channel.name)
    valid = {i: valid_at(known, LogKey(position, START_OF_TRANSACTION)) for i, known in histories.items()}
    return {i: revision.table for i, revision in valid.items() if revision is not None and revision.table is not None}


def _is_due(run: RunContext, horizon: RewindHorizon, newest: Load) -> bool:
    if horizon.age is not None and newest.created < datetime.now(UTC) - timedelta(seconds=horizon.age / 2):
        return True
    since = sum(row.bytes for row in run.live_segments() if row.high > newest.position)
    return horizon.size is not None and since > horizon.size / 2


def forgettable(run: RunContext, now: datetime) -> Lsn | None:
    """Before which position nothing is needed to go back as far as the horizon; None: everything may be."""
    horizon = run.channel.rewind_horizon
    if horizon is None or (horizon.age is None and horizon.size is None):
        return None
    segments = run.live_segments()
    for load in reversed(readable_loads(run.trail, run.epoch)):
        is_old = horizon.age is None or load.created < now - timedelta(seconds=horizon.age)
        is_far = horizon.size is None or sum(row.bytes for row in segments if row.high > load.position) > horizon.size
        if is_old and is_far and is_whole(run, load):
            return load.position
    return None
