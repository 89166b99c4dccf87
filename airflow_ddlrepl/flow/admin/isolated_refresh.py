"""An isolated refresh loads tables while capture, and the changes of the other tables, go on in other runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from airflow_ddlrepl.adapt.program.suspend import CatchUp, isolated
from airflow_ddlrepl.engines.abilities.of_target import LoadsBeside
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.target_state import Applied
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.apply.catch_up import catch_up
from airflow_ddlrepl.flow.apply.suspension import suspended_error
from airflow_ddlrepl.flow.capture.log_continuity import follow
from airflow_ddlrepl.flow.refresh.readiness import loadable
from airflow_ddlrepl.flow.refresh.requests import ask, isolate, isolation_lock, options_of
from airflow_ddlrepl.flow.refresh.row_origin import ShapesAtTarget
from airflow_ddlrepl.flow.refresh.source_rows import SourceRows
from airflow_ddlrepl.flow.refresh.table_loader import Isolation, TableLoader
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import claim
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.flow.run.results import Printable, Refreshed
from airflow_ddlrepl.flow.run.stage import errors_recorded, stage
from airflow_ddlrepl.flow.stages import ISOLATE
from airflow_ddlrepl.flow.targets.readiness import prepared_targets, ready_targets
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.notation.refresh_options import ISOLATING, RefreshOptions
from airflow_ddlrepl.repository.stored.rows import RefreshRow

PATIENCE = 6 * 3600.0
"""Seconds that a loaded table waits for the channel: a cycle of other tables may hold it for long."""


@dataclass(frozen=True)
class Isolated(Printable):
    """This is what a run has isolated: the tables, by target."""

    tables: dict[str, list[str]] = field(default_factory=dict)


def refresh_isolated(run: RunContext, patterns: Sequence[str] = (), options: RefreshOptions = ISOLATING) -> Refreshed:
    """Load the tables that match a `schema.table` pattern, and those that are isolated already, beside other runs.

    One such refresh of a channel runs at a time (LockHeld LCK-101). Each table has all its changes in the end. A target
    that is left out, as it does not answer or can't be prepared, is raised when the others have their rows.
    """
    started = time.monotonic()
    lease = float(run.channel.lock.lease_seconds)
    rows: dict[str, int] = {}
    run.repository.ensure_channel(run.channel.name, run.channel.fingerprint())
    with (
        run.repository.lock(isolation_lock(run), run.run_id, lease) as lock,
        errors_recorded(run, "refresh"),
    ):
        with run.locked("isolate", PATIENCE):
            begin(run, patterns, options)
        isolation = FailureIsolation()
        for target in ready_targets(run):
            with isolation.one(target.name):
                rows |= _load(run, target.name, lock.token)
        isolation.errors += run.targets.failed.values()
        isolation.end()
    return Refreshed(rows, {}, round(time.monotonic() - started, 2))


def has_isolated(run: RunContext) -> bool:
    """Is a table isolated at a target, and nobody loads it yet?"""
    if run.repository.holder(isolation_lock(run)) is not None:
        return False
    return any(isolated(run.target(target.name).state().table_states) for target in ready_targets(run))


@stage(ISOLATE)
def begin(run: RunContext, patterns: Sequence[str], options: RefreshOptions) -> Isolated:
    """Isolate the tables that match, and those that wait with that option: their changes come after the load."""
    follow(run)
    found: dict[str, list[str]] = {}
    for target in prepared_targets(run):
        claim(run, target.name)
        record(run, target.name)
        if patterns:
            ask(run, target.name, patterns, options)
        now = run.target(target.name).state()
        found[target.name] = [str(s.name) for s in isolate(run, target.name, now, _pending_refreshes(run, target.name))]
    return Isolated(found)


def _pending_refreshes(run: RunContext, target: str) -> Mapping[int, RefreshRow]:
    return {row.table_id: row for row in run.repository.pending_refreshes(run.channel.name, target)}


def _load(run: RunContext, target: str, mark: int) -> dict[str, int]:
    place = run.target(target)
    now = place.state()
    ids = [one.table_id for one in isolated(now.table_states)]
    if not ids:
        return {}
    states = CatchUp(ids, now.lsn).resumed(now.table_states)
    asked, refused = _pending_refreshes(run, target), dict[int, DdlReplError]()
    with (
        able(place, LoadsBeside).loading_isolated(mark) as loader,
        run.source.snapshot(ids, run.log_identity) as source,
    ):
        reach("isolated.snapshot")
        refused |= source.refused
        options = {t.id: options_of(run, target, t.name, asked.get(t.id)) for t in source.tables}
        ready = list(loadable(run, target, now.lsn, states, source.tables))
        shapes = ShapesAtTarget(run, target, loader.facts, states, ready, source.snapshot)
        isolation = Isolation(partial(_placed, now.table_states), partial(_placing, run, target, ids), mark)
        done = TableLoader(
            run,
            target,
            loader,
            SourceRows(source, shapes),
            states,
            options=options,
            refused=refused,
            isolation=isolation,
        ).run()
    with run.locked("refresh", PATIENCE):
        claim(run, target)
        record(run, target)
        catch_up(run, target, Applied(), ids)  # those that are not loaded are gone by now, or wait for a refresh again
        error = next(iter(refused.values()), None) or suspended_error(run, target)
    if error is not None:
        raise error
    log.info("target %s: %d tables were loaded beside other runs", target, len(done))
    return {str(state.name): count for state, count in done}


def _placed(before: Mapping[int, TableState], after: TableState) -> TableState:
    """Return the state of a loaded table: its rows are there, and its changes since it was isolated still come."""
    suspension = before[after.table_id].suspension
    assert suspension is not None
    return replace(after, state=TableStatus.SUSPENDED, suspension=replace(suspension, status=TableStatus.LIVE))


@contextmanager
def _placing(run: RunContext, target: str, ids: Sequence[int]) -> Iterator[None]:
    """Hold the channel while loaded tables are put in their places. Raises where one is not isolated any more."""
    reach("isolated.loaded")
    with run.locked("refresh", PATIENCE):
        claim(run, target)
        still = {one.table_id for one in isolated(run.target(target).state().table_states)}
        if lost := set(ids) - still:
            raise DdlReplError(
                f"tables {sorted(lost)} are not isolated any more: another run has loaded or dropped them meanwhile",
                code="REF-101",
                hint="refresh them again, if they still wait",
            )
        yield
