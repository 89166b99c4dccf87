"""Capture reads the source's log from where the trail ends, up to now, into the trail.

Nothing is confirmed to the source before it is durable: first the files, then the manifest, then the
repository, then the slot.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from airflow_ddlrepl.capture.drift import unexplained
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.capture.drift_check import INSPECTED, CatalogLook, explain, inspect_source
from airflow_ddlrepl.flow.capture.dropped_tables import has_lost_all, require_a_table
from airflow_ddlrepl.flow.capture.file_changes import FileChange, take_over_file
from airflow_ddlrepl.flow.capture.left_out import left_out, require_captured_rows, warn_of_left_out
from airflow_ddlrepl.flow.capture.log_continuity import follow, is_followed, require_source
from airflow_ddlrepl.flow.capture.log_retention import hold
from airflow_ddlrepl.flow.capture.new_tables import warn_of_waiting
from airflow_ddlrepl.flow.capture.session_names import name_sessions, named_sessions
from airflow_ddlrepl.flow.capture.source_changes import (
    due_in,
    has_unlogged_changes,
    look,
    record_inspection,
    require_triggers,
)
from airflow_ddlrepl.flow.capture.source_marks import leave_mark, require_own
from airflow_ddlrepl.flow.capture.window import Window, capture_window, register
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.limits import require_room
from airflow_ddlrepl.flow.run.results import Captured
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.stages import CAPTURE
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.flow.streams.function_uses import uses_by
from airflow_ddlrepl.model.change import REPLACED, Event, EventKind, counted, why_ignored
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import expect
from airflow_ddlrepl.streams.rules.function_use import FunctionCounts

Tell = Callable[[Position], None]
"""This function is told up to where the log is captured, while there is more of it to capture."""


@stage(CAPTURE)
def capture(run: RunContext, tell: Tell | None = None) -> Captured:
    """Capture everything that was committed before the call.

    tell: is told of each window that is captured, but for the last.

    Raises SourceError SRC-182, once all of it is captured, when an HVR channel has lost its last table.
    """
    with run.source.looking_once():
        return _capture(run, tell)


def _capture(run: RunContext, tell: Tell | None) -> Captured:
    started = time.monotonic()
    low = first = run.captured()
    follow(run)
    require_room(run)
    require_source(run, low)
    expect(run.runner, run.positions.distance(low, run.source.log_end()))
    require_triggers(run)
    tally = _Tally()
    while segment := run.trail.find(run.epoch, low):
        log.info("taking over the segment %s that an earlier run left", low)
        require_own(run, segment)
        run.trail.check(segment)
        low = tally.add(register(run, segment))
    _advance(run, low)
    change = take_over_file(run)
    late = run.source.membership.publish_late()
    require_captured_rows(run)
    warn_of_waiting(run)
    unnamed = name_sessions(run)
    since = run.source.membership.session_names()
    reach("capture.published")
    with CatalogLook(run, change, run.positions.distance(low, run.source.log_end())) as catalog:
        found = look(run, late)
        end = leave_mark(run)
        sessions, still_unnamed = named_sessions(run, since)
        found = replace(found, sessions=sessions)
        catalog.begin(end, late=frozenset(late), unnamed=unnamed | still_unnamed, **due_in(found))
        low = _windows(run, low, catalog, tally, tell)
        inspection = catalog.inspection()
    if not (inspection.due or inspection.gap):  # else no window has them
        record_inspection(run, inspection, tally.events, found)
    run.repository.set_position(run.channel.name, run.token, INSPECTED, low)
    reach("capture.inspected")
    run.source.membership.forget_late(tally.filled)
    missing = left_out(run)
    warn_of_left_out(missing)
    require_a_table(run)
    result = tally.result(first, low, time.monotonic() - started)
    clients = StreamsClients(run)
    counted = [(clients.capture, tally.functions)] if clients.capture is not None else []
    result = replace(result, functions=uses_by(clients, counted), steps=tally.steps)
    gap = found.gaps[-1] if found.is_gap_due else ""
    lost = tuple(str(one.name) for one in missing if one.is_lost)
    result = replace(result, left_out={str(one.name): str(one) for one in missing}, gap=gap, lost=lost)
    result = replace(result, undecodable=tuple(str(one.name) for one in missing if one.is_undecodable))
    return replace(result, joined_or_left=change.done, outdated=change.keys, unpublished=change.lost)


def _windows(run: RunContext, low: Position, catalog: CatalogLook, tally: _Tally, tell: Tell | None) -> Position:
    """Capture the log up to where the catalog was looked at, window by window; return that position."""
    while low < catalog.end:
        high = min(catalog.end, run.positions.limit(low, run.channel.capture.window_bytes))
        low = tally.add(capture_window(run, low, high, catalog))
        catalog.forget_due()
        _advance(run, low)
        reach("capture.advanced")
        if low < catalog.end and tell is not None:
            tell(low)
        if low == catalog.end and not tally.drift:
            explain(run, catalog.inspection())
    return low


def _advance(run: RunContext, low: Position) -> None:
    """Let the source discard log that is captured and no longer held; only the channel's holder may."""
    run.check_lock()
    try:
        hold(run)
    except SourceError as error:
        log.warning("the source does not hold its log for rewinds: %s", error)
    run.source.acknowledge(low)


def has_new_log(run: RunContext) -> bool:
    """Would a capture find anything? Cheap; starts nothing, and confirms nothing to the source: it holds no lock.

    After a crash of the source the slot may be back at an earlier position: then the answer may be a yes too many.
    """
    low = run.captured()
    if run.trail.find(run.epoch, low):
        return True
    if not is_followed(run):
        return True
    require_source(run, low)
    if run.source.membership.has_late() or has_lost_all(run):
        return True
    change = FileChange(keys=tuple(run.source.membership.changed_keys()))
    inspection = inspect_source(run, change)
    end = run.source.stable_end()
    if run.source.has_changes(low, end) or has_unlogged_changes(run, inspection):
        return True
    return bool(
        unexplained(inspection, run.repository.latest_revisions(run.channel.name), (), end, run.joins, run.types)
    )


class _Tally:
    """A tally adds up what the windows of one capture found."""

    def __init__(self) -> None:
        self.rows = self.transactions = self.segments = self.revisions = self.drift = 0
        self.ddl: Counter[str] = Counter()
        self.discarded: Counter[str] = Counter()
        self.filled: set[int] = set()
        self.events: list[Event] = []
        self.functions = FunctionCounts()
        self.steps: dict[str, str] = {}

    def add(self, window: Window) -> Position:
        segment = window.segment
        self.rows += segment.rows
        for part in segment.parts:
            self.functions.add_all(part.functions)
            self.steps |= part.steps
        self.transactions += sum(part.transaction_count for part in segment.parts)
        self.segments += not segment.is_empty
        self.revisions += len(window.revisions)
        self.discarded.update(window.discarded)
        self.events += window.events
        for event in window.events:
            self.filled.update(event.filled)
            if event.kind is EventKind.IGNORED:
                for _, name in event.dropped:
                    self.discarded[f"{name}: {why_ignored(event)}"] += counted(event.statement)
            elif why_ignored(event) and event.discarded != REPLACED:
                self.discarded[f"{event.tag}: {why_ignored(event)}"] += 1
            elif event.kind is EventKind.TRUNCATE:
                self.ddl["TRUNCATE"] += 1
            elif event.kind is EventKind.DDL and event.is_inspected:
                self.drift += 1
            elif event.kind is EventKind.DDL:
                self.ddl[event.tag] += 1
        return segment.high

    def result(self, low: Position, high: Position, seconds: float) -> Captured:
        counts = (self.rows, self.transactions, self.segments, dict(self.ddl), self.revisions, self.drift)
        return Captured(low, high, *counts, round(seconds, 2), dict(self.discarded))
