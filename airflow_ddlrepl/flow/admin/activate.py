"""Activate enrolls the tables of a channel and prepares its targets; deactivate takes all of it away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from airflow_ddlrepl.config.sections.policies import Accepted, Enrollment, ExistingTables, TrailChoice
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.engines.abilities.of_source import RetainsLog
from airflow_ddlrepl.engines.ability import find
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.admin.activate_clients import activate_without_log, require_whole_log
from airflow_ddlrepl.flow.apply.ddl_replay import require_one_way
from airflow_ddlrepl.flow.capture.accept import accept_server, is_put_back, raise_epoch, take_targets_over
from airflow_ddlrepl.flow.capture.capture import capture
from airflow_ddlrepl.flow.capture.dropped_tables import require_tables
from airflow_ddlrepl.flow.capture.log_continuity import is_log_lost, is_lost, start_over
from airflow_ddlrepl.flow.capture.log_retention import hold
from airflow_ddlrepl.flow.capture.recapture import require_held, reread
from airflow_ddlrepl.flow.capture.source_changes import look, record_activation
from airflow_ddlrepl.flow.capture.source_marks import MarkState, begin_marks, mark_state
from airflow_ddlrepl.flow.comparing.repair import repair
from airflow_ddlrepl.flow.mapping.abilities import require_source_able
from airflow_ddlrepl.flow.mapping.server_traits import trait_differences
from airflow_ddlrepl.flow.pipelines import pipeline_of
from airflow_ddlrepl.flow.refresh.refresh import refresh
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import require_target_not_cut_over
from airflow_ddlrepl.flow.run.results import Activated
from airflow_ddlrepl.flow.run.source_records import last_record
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.stages import ACTIVATE, DEACTIVATE
from airflow_ddlrepl.flow.targets.preparation import Beginning, prepare_target, require_preparable
from airflow_ddlrepl.flow.targets.readiness import Readiness, foreign, readiness
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.record import JOINED, NEW_TRAIL
from airflow_ddlrepl.model.revision import Origin, Revision
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.moment import Start
from airflow_ddlrepl.ports.work import probe
from airflow_ddlrepl.repository.stored.rows import ChannelState
from airflow_ddlrepl.scope.decide import ChangeKind, decide


@stage(ACTIVATE)
def activate(
    run: RunContext,
    *,
    load: bool = True,
    enrollment: Enrollment = "keep",
    start: Start = "now",
    trail: TrailChoice = "keep",
    accept: Accepted = "nothing",
) -> Activated:
    """Prepare the source, enroll its tables and load those that exist.

    To activate again changes nothing, but for `enrollment`, `start` and `trail`. enrollment: of shapes that are known.
    keep: they stay. regenerate: the log is captured and every table inspected; where the shape of today contradicts the
    log's, it is enrolled as inspected. only: this, and nothing else. load: refresh now; else the next cycle does.
    start: at an earlier moment or position, or the oldest, capture begins again: what it found from there on, up to the
    captured position, is read once more from the log that the source holds. Raises what `require_held` raises when that
    can't be, before anything is done. trail: new, when the trail is lost or damaged: another one begins at the captured
    position, and every target loads every table again, for what the old one held. accept: source or repository, that
    it was put back to an older copy: every table starts over as the source has it now. Raises what is wrong with a
    target before anything is done.

    A slot that no longer has what comes next (it was lost, dropped, or moved on by somebody else) is made again where
    the source holds its log. Where it does not, or what was captured was lost at the source, every table starts over
    with a refresh. The targets are changed first: killed in between, the next activation still sees that the repository
    is before the slot, or in the log that was lost.
    """
    pipeline = pipeline_of(run.channel)
    pipeline.require_activable(run)
    require_source_able(run.channel, run.source)
    if not run.channel.captures_log:
        found = activate_without_log(run)
        return replace(found, refreshed=pipeline.bring_tables(run, load=load))
    probe(run.runner)
    changes_since = _changes_since(run, start)
    if enrollment != "keep":
        require_tables(run)
    if enrollment == "only":
        contradicted, reread = _regenerated(run), _start_again(run, start)
        return Activated(run.captured(), contradicted=contradicted, reread=reread, changes_since=changes_since)
    run.targets.require_own_databases()
    run.targets.raise_failed()
    position, tables = _activated(run, trail, accept)  # from now on the log has what it can have of computed columns
    _warn(run)
    hold(run)
    reread = _start_again(run, start)
    contradicted = {} if enrollment == "keep" else _regenerated(run)
    refreshed = pipeline.bring_tables(run, load=load)
    if accept == "server":
        _compare_upgraded(run)
    names = tuple(sorted(str(t.name) for t in tables))
    left_out = {str(name): why for name, why in run.source.membership.unpublished_reasons().values()}
    record = last_record(run)
    gap = record.gaps[-1] if record.is_gap_due else ""
    return Activated(position, names, refreshed, left_out, contradicted, reread, changes_since, gap)


def _warn(run: RunContext) -> None:
    """Warn of what may differ at a target by its server's traits, and of dangers at the source."""
    for target in run.targets.answering():
        for what in trait_differences(run, target.name):
            log.warning("target %s: %s: what it computes may differ from the source's values", target.name, what)
    for danger in run.source.dangers():
        log.warning("%s; %s", danger.what, danger.fix)


def _compare_upgraded(run: RunContext) -> None:
    """Make every table equal that was written to while no slot was there, and bind the channel to the new server."""
    found = repair(run, log_has_gap=True)
    for name in found.repaired:
        log.warning("%s was written to while the server was upgraded: its rows were corrected", name)
    for name in found.unrepaired:
        log.warning("%s differs since the server was upgraded: `ddlrepl refresh` loads it again", name)
    run.repository.accept_source(run.channel.name, run.token, run.source.identity())


def load_tables(run: RunContext, *, load: bool) -> dict[str, int]:
    """Refresh the tables that the targets lack; return rows by table. load: do it now; else the next cycle does."""
    return refresh(run).tables if load else {}


def _activated(run: RunContext, trail: TrailChoice, accept: Accepted) -> tuple[Position, Sequence[Table]]:
    """Let source, targets and repository agree on where the channel begins and which tables it has; return both."""
    if accept == "server":
        accept_server(run)
    is_accepted = is_put_back(run, accept)
    if is_accepted and accept == "repository":
        raise_epoch(run)
    captured = run.repository.captured(run.channel.name)
    is_new_trail = captured is not None and (trail == "new" or _has_begun_one(run))
    again = is_accepted or (is_log_lost(run) if is_new_trail else is_lost(run))
    if captured is not None and not again:
        run.source.require_log(captured)
    known = look(run) if captured is not None else None
    before = run.source.membership.published()
    found = run.source.activate(again=again, low=captured)
    late = run.source.membership.late() | (run.source.membership.published() - before)
    reach("activate.source")
    row = run.repository.channel(run.channel.name)
    is_broken = captured is not None and (found.is_new or found.position > captured)
    is_new = captured is None or is_broken
    position = found.position if again else Position(max(found.position if is_new else 0, captured or 0))
    begins = again or is_broken or is_new_trail  # a new epoch: no rewind goes across the log that is missing
    if begins and not pipeline_of(run.channel).loads_what_is_lost:
        require_whole_log(run, captured)
    tables = _wanted(run)
    _require_possible(run, tables)
    revisions = _new_revisions(run, tables, position, is_broken=is_broken)
    if (revisions or late) and not is_new:
        run.source.membership.await_transactions()
    beginning = Beginning(
        position, tables, run.epoch + begins, frozenset(late), why=NEW_TRAIL if is_new_trail else JOINED
    )
    if is_accepted and accept == "repository":
        take_targets_over(run, position)
    for target in run.channel.targets:
        starts_over = is_broken or is_accepted or is_new_trail or _takes_over(run, target.name, position)
        prepare_target(run, target.name, replace(beginning, starts_over=starts_over))
    reach("activate.targets")
    if is_new_trail:
        run.trail.forget(run.epoch + 1)  # no target needs them any more
    if begins:
        start_over(run, revisions, position)
    elif revisions or is_new:
        run.repository.enroll(run.channel.name, run.token, revisions, position if is_new else None)
    record_activation(run, tables, known, begins=begins or is_new)
    run.repository.set_feed(run.channel.name, run.token, run.source.membership.feed_id())
    if begins or is_new or mark_state(run) is MarkState.MISSING:
        begin_marks(run)
    run.source.membership.forget_late(late)
    reach("activate.enrolled")
    if row is None or row.state is not ChannelState.ACTIVE or row.fingerprint != run.channel.fingerprint():
        run.repository.set_state(run.channel.name, run.token, ChannelState.ACTIVE, run.channel.fingerprint())
    source = find(run.source, RetainsLog)
    if source is not None and (begins or run.channel.hold_log is None):
        source.retained_log.release()
    return position, tables


def _has_begun_one(run: RunContext) -> bool:
    """Has an activation that was ended half way made a target start over already?"""
    return any(readiness(run, target.name) is Readiness.AHEAD for target in run.targets.answering())


def _require_possible(run: RunContext, tables: Sequence[Table]) -> None:
    """Raise unless every target can have these tables as the channel file says."""
    require_one_way(run.channel, tables)
    for target in run.channel.targets:
        require_preparable(run, target.name, tables)


def _changes_since(run: RunContext, start: Start) -> tuple[str, ...]:
    """Return the schema changes of the log from `start` on: rows before each have another shape than those after it.

    Raises what `require_held` raises.
    """
    if start == "now":
        return ()
    rows = require_held(run, start)
    low = rows[0].low if rows else run.captured()
    revisions = run.repository.revisions(run.channel.name)
    later = sorted((r for r in revisions if r.key.lsn >= low), key=lambda r: r.key)
    names = {r.table_id: r.table.name for r in revisions if r.table is not None}
    found = [f"{names[r.table_id]} at {Position(r.key.lsn)}: {r.statement or 'found by inspection'}" for r in later]
    for change in found:
        log.warning("capture begins again before a schema change: %s", change)
    return tuple(found)


def _start_again(run: RunContext, start: Start) -> int:
    """Capture the segments from `start` on once more; return how many."""
    rows = [] if start == "now" else require_held(run, start)
    for row in rows:
        reread(run, row)
    return len(rows)


def _regenerated(run: RunContext) -> dict[str, list[str]]:
    """Capture, and inspect every table again; return what the log does not show of each, by table."""
    before = run.repository.histories(run.channel.name)
    run.repository.set_explained_catalog(run.channel.name, run.token, "")
    capture(run)
    found: dict[str, list[str]] = {}
    for table_id, known in run.repository.histories(run.channel.name).items():
        for old, new in pairwise(known):
            if new.origin is Origin.INSPECTED and new not in before.get(table_id, ()):
                shape = new.table or old.table
                found[str(shape.name if shape else table_id)] = [
                    str(change) for change in diff(old.table, new.table, run.types)
                ]
    return found


@stage(DEACTIVATE)
def deactivate(run: RunContext) -> Activated:
    """Remove what activation made at the source and what we remember; the tables of targets and replays stay."""
    position = run.repository.captured(run.channel.name) or Position(0)
    pipeline_of(run.channel).deactivate(run)
    if run.channel.captures_log:
        run.source.deactivate()
    for place in run.channel.databases:
        run.target(place.name).forget()
    run.repository.delete_channel(run.channel.name, run.token)
    return Activated(position)


def _wanted(run: RunContext) -> list[Table]:
    """Return the tables of the channel with their shapes; of a partitioned table its partitions and theirs, too."""
    catalog, published = run.source.catalog, run.source.membership.published()
    named = {i for i, r in run.repository.latest_revisions(run.channel.name).items() if r.table}
    named |= {
        i for i, name in catalog.list_tables().items() if decide(run.capture_client, name, ChangeKind.TABLE).is_taken
    }
    reloaded = {one.table_id for one in run.source.membership.left_out() if one.is_reloaded}
    left_out = set(run.source.membership.unpublished_reasons()) - reloaded

    def is_captured(table: Table) -> bool:
        below = table.id in published or (
            table.is_partitioned and not decide(run.capture_client, table.name, ChangeKind.TABLE).is_excluded
        )
        return (table.id in named or below) and not table.unlogged and table.id not in left_out

    return [table for table in catalog.inspect(sorted(catalog.with_partitions(named))) if is_captured(table)]


def _new_revisions(run: RunContext, tables: Sequence[Table], position: Position, *, is_broken: bool) -> list[Revision]:
    """Return revisions of new tables; when a part of the log is missing, also of those that changed in it."""
    latest = run.repository.latest_revisions(run.channel.name)
    found = []
    for table in tables:
        before = latest.get(table.id)
        known = before.table if before else None
        if known is None or (is_broken and known != table):
            key = LogKey.last_before(position)
            number = before.number + 1 if before else 0
            found.append(Revision(table.id, number, key, table, Origin.INSPECTED))
    return found


def _takes_over(run: RunContext, target: str, position: Position) -> bool:
    """Must the target load every table again, because what it has is another repository's, or too old to go on from?

    Raises TargetError TGT-103 where it is another repository's and may not be overwritten: two channels of one name
    would spoil each other's tables.
    """
    found = readiness(run, target)
    if found is Readiness.FOREIGN:
        if run.channel.target(target).existing_tables is not ExistingTables.REPLACE:
            raise foreign(run, target)
        require_target_not_cut_over(run, target)
        run.target(target).take_over(position, run.fence)
    return found in (Readiness.FOREIGN, Readiness.OUTDATED)
