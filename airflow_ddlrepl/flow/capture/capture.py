"""Capture: read the source's log from where the trail ends, up to now, into the trail.

Nothing is confirmed to the source before it is durable: first the files, then the manifest, then the
repository, then the slot.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from airflow_ddlrepl.capture.drift import Inspection, doubtful, seen_at, sees_all, unexplained
from airflow_ddlrepl.capture.enroll import Past, belongs, enroll, enroll_with_silent, valid_at
from airflow_ddlrepl.capture.row_layouts import foreign_layouts
from airflow_ddlrepl.config.sections.policies import CaptureFormat
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect_unlocked
from airflow_ddlrepl.engines.postgres.log.capture_range import (
    NeedsText,
    RangeTask,
    Reader,
    binary_safe,
    capture_range,
    choose_reader,
    ranges,
    wire_types,
)
from airflow_ddlrepl.errors import DdlReplError, DiskFull, SourceError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.capture.left_out import left_out, warn_of_left_out
from airflow_ddlrepl.flow.capture.log_continuity import follow, is_followed, require_kept, require_source
from airflow_ddlrepl.flow.capture.log_retention import hold
from airflow_ddlrepl.flow.capture.new_tables import join, settle_joined, warn_of_waiting
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.disk_space import needing
from airflow_ddlrepl.flow.run.results import Captured
from airflow_ddlrepl.flow.run.shared_storage import check_arrived
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.position import LogKey, Lsn
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.work import Runner
from airflow_ddlrepl.repository.channels import CAPTURED
from airflow_ddlrepl.repository.rows import SegmentFacts
from airflow_ddlrepl.trail.manifest import Part, Segment
from airflow_ddlrepl.trail.store import INSPECTED_FILE, data_folder

RANGE_BYTES = 16 << 20
INSPECTED = "inspected"
NOT_OURS = "about no table of the channel"
STORED = (EventKind.DDL, EventKind.TRUNCATE, EventKind.NO_TRUNCATE, EventKind.GAP, EventKind.RELATION)


@stage("capture")
def capture(run: RunContext) -> Captured:
    """Capture everything that was committed before the call."""
    started = time.monotonic()
    low = first = run.captured()
    follow(run)
    require_source(run, low)
    tally = _Tally()
    while segment := run.trail.find(run.epoch, low):
        log.info("taking over the segment %s that an earlier run left", low)
        run.trail.check(segment)
        low = tally.add(_register(run, segment))
    _advance(run, low)
    late = run.source.publish_late()
    warn_of_waiting(run)
    reach("capture.published")
    inspection = replace(inspect_source(run), late=frozenset(late))
    end = run.source.flush_position()
    while low < end:
        high = Lsn(min(end, low + run.channel.capture.window_bytes))
        low = tally.add(_window(run, low, high, inspection, is_last=high == end))
        _advance(run, low)
        reach("capture.advanced")
        if low == end and not tally.drift:
            _explain(run, inspection)
    run.repository.set_position(run.channel.name, run.token, INSPECTED, low)
    reach("capture.inspected")
    run.source.forget_late(tally.filled)
    missing = left_out(run)
    warn_of_left_out(missing)
    result = tally.result(first, low, time.monotonic() - started)
    return replace(result, left_out={str(one.name): str(one) for one in missing})


def _advance(run: RunContext, low: Lsn) -> None:
    """Only the channel's holder tells the source what it may forget."""
    run.check_lock()
    try:
        hold(run)
    except SourceError as error:
        log.warning("the source does not hold its log for rewinds: %s", error)
    run.source.advance(low)


def has_new_log(run: RunContext) -> bool:
    """Would a capture find anything? Cheap; starts nothing, and tells the source nothing: it holds no lock.

    After a crash of the source the slot may stand where it stood before: then the answer may be a yes too many.
    """
    low = run.captured()
    if run.trail.find(run.epoch, low):
        return True
    if not is_followed(run):
        return True
    require_source(run, low)
    if run.source.has_late():
        return True
    inspection = inspect_source(run)
    end = run.source.flush_position()
    if run.source.has_news(low, end):
        return True
    return bool(unexplained(inspection, run.repository.latest_revisions(run.channel.name), (), end, run.joins))


def inspect_source(run: RunContext) -> Inspection:
    """Every table of the channel, and those that could join it, as the catalog shows them now.

    A catalog that is as it was when all of it was explained is not read: it shows what is known.
    """
    known = run.repository.latest_revisions(run.channel.name)
    bystanders = run.source.bystanders()
    row = run.repository.channel(run.channel.name)
    basis, _, version = (row.explained if row else "").partition(" ")
    catalog = inspect_unlocked(run.source.connection, version if basis == _basis(run, bystanders) else "")
    if catalog.tables is None:
        return Inspection(tuple(r.table for r in known.values() if r.table), catalog.seen)
    others = bystanders - known.keys()
    ours = [t for t in catalog.tables if t.id not in others and belongs(t, known, run.joins)]
    return Inspection(tuple(ours), catalog.seen, catalog.locked, version=catalog.version)


def _basis(run: RunContext, bystanders: Iterable[int]) -> str:
    """What else decides whether a catalog is explained: the channel's file, and what is known of its tables."""
    known = [(i, r.number) for i, r in run.repository.latest_revisions(run.channel.name).items()]
    basis = (run.channel.fingerprint(), run.epoch, sorted(bystanders), known)
    return hashlib.sha256(repr(basis).encode()).hexdigest()[:32]


def _explain(run: RunContext, inspection: Inspection) -> None:
    """Remember that this inspection found nothing that the log does not tell."""
    if inspection.version and not inspection.locked and not inspection.late:
        explained = f"{_basis(run, run.source.bystanders())} {inspection.version}"
        run.repository.set_explained(run.channel.name, run.token, explained)


@dataclass(frozen=True)
class _Window:
    """One segment, what of its events is about the channel's tables, and the revisions that they make.

    discarded: schema changes that are about other tables, by kind.
    """

    segment: Segment
    events: Sequence[Event] = ()
    revisions: Sequence[Revision] = ()
    discarded: Mapping[str, int] = field(default_factory=dict)


class _Tally:
    """Adds up what the windows of one capture found."""

    def __init__(self) -> None:
        self.rows = self.transactions = self.segments = self.revisions = self.drift = 0
        self.ddl: Counter[str] = Counter()
        self.discarded: Counter[str] = Counter()
        self.filled: set[int] = set()

    def add(self, window: _Window) -> Lsn:
        segment = window.segment
        self.rows += segment.rows
        self.transactions += sum(part.transaction_count for part in segment.parts)
        self.segments += not segment.is_empty
        self.revisions += len(window.revisions)
        self.discarded.update(window.discarded)
        for event in window.events:
            self.filled.update(event.filled)
            if event.kind is EventKind.TRUNCATE:
                self.ddl["TRUNCATE"] += 1
            elif event.kind is EventKind.DDL and event.is_inspected:
                self.drift += 1
            elif event.kind is EventKind.DDL:
                self.ddl[event.tag] += 1
        return segment.high

    def result(self, low: Lsn, high: Lsn, seconds: float) -> Captured:
        counts = (self.rows, self.transactions, self.segments, dict(self.ddl), self.revisions, self.drift)
        return Captured(low, high, *counts, round(seconds, 2), dict(self.discarded))


def _window(run: RunContext, low: Lsn, high: Lsn, inspection: Inspection, *, is_last: bool) -> _Window:
    with files_gone_on_failure(run, low), needing(high - low, "of log in this window"):
        segment = _read(run, low, high, inspection, is_last=is_last)
        if not segment.is_empty:
            reach("capture.files")
        run.check_lock()
    if segment.is_empty:
        run.repository.set_position(run.channel.name, run.token, CAPTURED, high)
        return _Window(segment)
    published = _publish(run, segment)
    reach("capture.manifest")
    return _register(run, published)


def _read(run: RunContext, low: Lsn, high: Lsn, inspection: Inspection, *, is_last: bool) -> Segment:
    """The window's files are in the trail; no manifest names them yet."""
    parts: Sequence[Part] = ()
    if run.source.has_news(low, high):
        parts = read_window(run, low, high, run.channel.trail, run.runner)
        run.check_lock()  # the files of a run that was taken over are gone: that is no lost file
        check_arrived(run.trail, parts)
    place = (run.channel.name, run.epoch, run.token, low, high)
    segment = Segment(*place, tuple(parts), lineage=run.lineage)
    events = run.trail.events(segment)
    drift = find_drift(run, segment, events, inspection, is_last=is_last)
    tended = join(run, drift) if drift else {}
    if tended and (more := run.source.late() - inspection.late):
        inspection = replace(inspection, late=inspection.late | more)
        drift = find_drift(run, segment, events, inspection, is_last=is_last)
    settle_joined(run, events, drift, tended)
    segment = replace(segment, is_inspected=is_last and sees_all(inspection, events))
    if not drift:
        return segment
    return replace(segment, parts=(*parts, _drift_part(run, segment, seen_at(inspection, drift))))


@contextmanager
def files_gone_on_failure(run: RunContext, low: Lsn) -> Iterator[None]:
    """What this run wrote of a window that failed is removed: on a full disk the next try needs the room."""
    try:
        yield
    except Exception:
        with suppress(DdlReplError):
            run.trail.discard(run.epoch, low, run.token)
        raise


def _publish(run: RunContext, segment: Segment) -> Segment:
    try:
        return run.trail.publish(segment, run.check_lock)
    except DiskFull:
        with suppress(DdlReplError):
            if run.trail.find(segment.epoch, segment.low) is None:
                run.trail.discard(segment.epoch, segment.low, run.token)
        raise


def read_window(
    run: RunContext,
    low: Lsn,
    high: Lsn,
    trail_url: str,
    runner: Runner,
    held: str = "",
    no_truncate: bool | None = None,
) -> list[Part]:
    """Decode the window into a trail, in ranges side by side; again in text format when a type asks for it.

    held: a slot that stands far before it, instead of the channel's. no_truncate: None is what the channel file says.
    """
    tables = [r.table for r in run.repository.latest_revisions(run.channel.name).values() if r.table]
    wanted = run.channel.capture.format
    is_binary = wanted is not CaptureFormat.TEXT and all(binary_safe(t) for t in tables)
    reader = choose_reader(run.source.connection)
    parallel = run.channel.capture.parallel or runner.parallelism
    cuts = ranges(low, high, 1 if reader is Reader.PROTOCOL else parallel, RANGE_BYTES)
    run.source.wait_for_standbys(high)
    while True:
        tasks = [
            RangeTask(
                dsn=run.source_dsn,
                slot=held or run.channel.slot,
                is_behind=bool(held),
                publication=run.channel.publication,
                low=start,
                high=end,
                index=index,
                count=len(cuts),
                window_low=low,
                trail_url=trail_url,
                channel=run.channel.name,
                epoch=run.epoch,
                token=run.token,
                wire_format="binary" if is_binary else "text",
                types=tuple(wire_types(tables).items()),
                reader=reader,
                timeline=run.timeline,
                no_truncate=run.channel.capture.no_truncate if no_truncate is None else no_truncate,
            )
            for index, (start, end) in enumerate(cuts)
        ]
        try:
            return runner.map(capture_range, tasks, "capture", size=high - low)
        except NeedsText as reason:
            if not is_binary:
                raise
            log.info("reading the window again in text format: %s", reason.message)
            is_binary = False


def enrolled(run: RunContext, events: Sequence[Event], known: Mapping[int, Revision]) -> list[Revision]:
    """The revisions that these events add to those that the repository knows."""
    return enroll(events, known, run.joins, _past(run))


def _past(run: RunContext) -> Past:
    return partial(run.repository.revisions, run.channel.name)


def find_drift(
    run: RunContext, segment: Segment, events: Sequence[Event], inspection: Inspection, *, is_last: bool
) -> list[Event]:
    known = run.repository.latest_revisions(run.channel.name)
    found, silent = enroll_with_silent(events, known, run.joins, _past(run))
    history: dict[int, list[Revision]] = {i: [r] for i, r in known.items()}
    for revision in found:
        history.setdefault(revision.table_id, []).append(revision)

    def shape_at(table_id: int, key: LogKey) -> Table | None:
        valid = valid_at(history.get(table_id, ()), key)
        return valid.table if valid else None

    files = [file for file in segment.files() if file.table_id in history]
    xids = _Xids(run, segment)
    drift = foreign_layouts(files, shape_at, {t.id: t for t in inspection.tables}, xids.at)
    changes = [(before, now) for before, change in silent for now in change.tables]
    if is_last:
        latest = {i: revisions[-1] for i, revisions in history.items()}
        explained = {i: r.table for i, r in latest.items() if r.table}
        for revision in enrolled(run, drift, latest):
            latest[revision.table_id] = revision
        drift += unexplained(inspection, latest, events, segment.high, run.joins)
        changes += [(explained[t.id], t) for event in drift for t in event.tables if t.id in explained]
    since = min(run.repository.position(run.channel.name, INSPECTED) or segment.low, segment.low)
    has_rows = {file.table_id for file in files} if since == segment.low else set(history)
    drift = [change for _, change in silent] + drift
    return doubtful(changes, has_rows, since, segment.low, segment.high) + drift


class _Xids:
    """Which transaction commits at a position of a segment; read when first asked for."""

    def __init__(self, run: RunContext, segment: Segment) -> None:
        self.run, self.segment = run, segment

    @cached_property
    def _known(self) -> dict[int, int]:
        rows = self.run.trail.transactions(self.segment)
        return dict(zip(rows["lsn"].to_pylist(), rows["xid"].to_pylist(), strict=True))

    def at(self, lsn: int) -> int:
        return self._known.get(lsn, 0)


def _drift_part(run: RunContext, segment: Segment, drift: Sequence[Event]) -> Part:
    index = len(segment.parts)
    lines = b"".join(json.dumps(e.to_json(), separators=(",", ":")).encode() + b"\n" for e in drift)
    path = f"{data_folder(run.epoch, segment.low)}/{index:04d}-{run.token}-{INSPECTED_FILE}"
    return Part(index, segment.low, segment.high, control=run.trail.write(path, lines), event_count=len(drift))


def _register(run: RunContext, segment: Segment) -> _Window:
    """Make a published segment part of the channel: its revisions, its events, the new position.

    Raises SourceError SRC-116 for one that an earlier run wrote, of log that was lost in a fail-over since.
    """
    require_kept(run, segment)
    events = sorted(run.trail.events(segment), key=lambda e: e.key)
    known = run.repository.latest_revisions(run.channel.name)
    found = enrolled(run, events, known)
    size = sum(file.size for file in segment.files())
    facts = SegmentFacts(segment.epoch, segment.low, segment.high, segment.rows, size, len(list(segment.files())))
    ours = {i for i, r in known.items() if r.table} | {r.table_id for r in found}
    seen = [e for e in events if e.kind in STORED and touches(e, ours)]
    run.repository.commit_segment(run.channel.name, run.token, facts, found, segment.high, seen=seen)
    run.trail.tidy(segment)
    reach("capture.repository")
    others = Counter(f"{e.tag}: {NOT_OURS}" for e in events if e.kind is EventKind.DDL and not touches(e, ours))
    return _Window(segment, seen, found, others)


def touches(event: Event, ours: set[int]) -> bool:
    """Is it about one of these tables, or maybe about any?"""
    ids = {t.id for t in event.tables} | {i for i, _ in event.dropped}
    if event.layout:
        ids.add(int(event.layout["table_id"]))
    return event.kind is EventKind.GAP or bool(ids & ours)
