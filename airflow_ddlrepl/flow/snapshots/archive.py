"""The rows that a refresh reads are archived in the trail as well, so that a replay has rows to begin from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

from airflow_ddlrepl.capture.enroll import valid_at
from airflow_ddlrepl.config.sections.retention import RewindHorizon
from airflow_ddlrepl.engines.abilities.of_source import ArchivesRows
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.source_catalog import ArchivePlace, SourceSnapshot
from airflow_ddlrepl.errors import SourceError, UnreadableTable
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.disk_space import needing
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.trail.loads import (
    Load,
    found_digests,
    load_folder,
    load_name,
    publish,
    readable_loads,
    sweep_loads,
)

AGAIN = "again"
"""So the name of a load ends that has all tables which could be read."""


def save(
    run: RunContext, source: SourceSnapshot, position: Position, why: str, but: Collection[int] = ()
) -> Mapping[int, UnreadableTable]:
    """Archive the tables of the snapshot in the trail, where the channel has a `rewind_horizon`.

    Return why tables could not be read, by id: the others are archived.

    but: ids of tables that are archived already. position: everything that commits before it is in the snapshot.
    why: for the load's name. Raises SourceError SRC-172 when a type was changed meanwhile.
    """
    tables = [table for table in source.tables if table.id not in but]
    if run.channel.rewind_horizon is None or not tables:
        return {}
    taken = run.source.clock()
    sweep_loads(run.trail, run.epoch, run.token)
    name = load_name(position, run.token, why)
    size = sum(source.sizes[table.id] for table in tables if not table.is_partitioned)
    place = ArchivePlace(run.channel.trail, run.channel.name, load_folder(run.epoch, name))
    with needing(size, "of the source's tables are archived in the trail"):
        found = able(run.source, ArchivesRows).archive(source, tables, place, run.runner)
    reach("save.written")
    run.check_lock()
    _know_earlier_loads(run)
    keep = partial(run.repository.add_load, run.channel.name, run.token, run.epoch, name)
    publish(run.trail, Load(run.epoch, name, position, source.snapshot, taken, found.tables), keep)
    log.info("archived %d tables in the trail, for rewinds", len(found.tables))
    for error in found.refused.values():
        log.warning("%s is not archived: %s: %s", error.table, error.code, error.message)
    return found.refused


def _know_earlier_loads(run: RunContext) -> None:
    """Store the digests of loads that a version of the product archived which stored none, once."""
    if not run.repository.load_digests(run.channel.name):
        for (epoch, name), digest in found_digests(run.trail).items():
            run.repository.add_load(run.channel.name, run.token, epoch, name, digest)


def renew(run: RunContext) -> None:
    """Archive every table again when the archive gets too old, or has too much log after it, for the horizon.

    A table that a schema change has locked puts it off to the next cycle.
    """
    horizon = run.channel.rewind_horizon
    if horizon is None:
        return
    loads = readable_loads(run.trail, run.epoch)
    whole = [load for load in loads if is_whole(run, load)]
    if whole and not _is_due(run, horizon, whole[-1]):
        return
    position = run.captured()
    renewed = [load for load in loads if load.name.endswith(f"-{AGAIN}")]
    if renewed and not _is_due(run, horizon, renewed[-1]):
        return  # it lacks tables that can't be read: to read the others again in every cycle would not help
    try:
        with run.source.snapshot(list(tables_at(run, position)), run.log_identity) as source:
            for error in source.refused.values():
                if error.retryable:
                    raise error
                log.warning("%s is not archived: %s: %s", error.table, error.code, error.message)
            save(run, source, position, AGAIN)
    except SourceError as error:
        if not error.retryable:
            raise
        log.warning("the tables are not archived again for rewinds in this cycle: %s", error.message)


def is_whole(run: RunContext, load: Load) -> bool:
    """Does the load hold every table of the channel that there was at its position?"""
    return {archived.table.id for archived in load.tables} >= tables_at(run, load.position).keys()


def tables_at(run: RunContext, position: Position) -> dict[int, Table]:
    """Return the channel's tables at a position by id, with their shapes then."""
    histories = run.repository.histories(run.channel.name)
    valid = {i: valid_at(known, LogKey(position, START_OF_TRANSACTION)) for i, known in histories.items()}
    return {i: revision.table for i, revision in valid.items() if revision is not None and revision.table is not None}


def _is_due(run: RunContext, horizon: RewindHorizon, newest: Load) -> bool:
    if horizon.age is not None and newest.created < datetime.now(UTC) - timedelta(seconds=horizon.age / 2):
        return True
    since = sum(row.bytes for row in run.live_segments() if row.high > newest.position)
    return horizon.size is not None and since > horizon.size / 2


def forgettable(run: RunContext, now: datetime) -> Position | None:
    """Return the position before which nothing is needed to go back as far as the horizon; None: everything may be."""
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
