"""Capture reads the log by windows: each is read into the trail, published as a segment, then made the channel's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from airflow_ddlrepl.capture.drift import sees_all, with_snapshot
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import ShapeUnknown
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.capture.captured_log import window_of, write_log, writing_of
from airflow_ddlrepl.flow.capture.drift_check import CatalogLook, enrolled, find_drift
from airflow_ddlrepl.flow.capture.log_continuity import require_retained
from airflow_ddlrepl.flow.capture.new_tables import join, settle_joined
from airflow_ddlrepl.flow.capture.source_changes import record_events, reloads
from airflow_ddlrepl.flow.capture.source_marks import newest_token, require_own
from airflow_ddlrepl.flow.mapping.tableless import is_for_replicats, is_tableless
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.disk_space import needing
from airflow_ddlrepl.flow.run.shared_storage import check_arrived
from airflow_ddlrepl.model.change import Event, EventKind, of_source
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.repository.channels import CAPTURED
from airflow_ddlrepl.repository.stored.rows import SegmentFacts, TableRows
from airflow_ddlrepl.trail.manifest import Part, Segment
from airflow_ddlrepl.trail.store import INSPECTED_FILE, data_folder

NOT_OURS = "about no table of the channel"
STORED = (
    EventKind.DDL,
    EventKind.TRUNCATE,
    EventKind.NO_TRUNCATE,
    EventKind.GAP,
    EventKind.RELATION,
    EventKind.IGNORED,
)


@dataclass(frozen=True)
class Window:
    """A window is one segment with its events that are about the channel's tables, and the revisions that they make.

    discarded: schema changes that are about other tables, by kind.
    """

    segment: Segment
    events: Sequence[Event] = ()
    revisions: Sequence[Revision] = ()
    discarded: Mapping[str, int] = field(default_factory=dict)


def capture_window(run: RunContext, low: Position, high: Position, look: CatalogLook) -> Window:
    """Read the log of [low, high) into the trail and make it part of the channel; an empty window moves it on only.

    look: at the catalog. Where the window ends where the look was, the log has to explain all that it found.
    """
    with run.trail.discarded_on_failure(run.epoch, low, run.token):
        with needing(run.positions.distance(low, high), "of log in this window"):
            segment = _read(run, low, high, look)
            if not segment.is_empty:
                reach("capture.files")
            run.check_lock()
        if segment.is_empty:
            run.repository.set_position(run.channel.name, run.token, CAPTURED, high)
            return Window(segment)
        published = run.trail.publish(segment, run.check_lock)
    require_own(run, published)
    reach("capture.manifest")
    return register(run, published)


def _read(run: RunContext, low: Position, high: Position, look: CatalogLook) -> Segment:
    """Write the window's files into the trail; no manifest names them yet."""
    parts: Sequence[Part] = ()
    if run.source.has_changes(low, high):
        parts = _captured(run, low, high)
        run.check_lock()  # the files of a run that was taken over are gone: that is no lost file
        check_arrived(run.trail, parts)
    inspection = look.inspection()
    is_last = high == look.end
    place = (run.channel.name, run.epoch, run.token, low, high)
    segment = Segment(*place, tuple(parts), log_identity=run.log_identity, mark=newest_token(run))
    events = of_source(run.trail.events(segment))
    drift = find_drift(run, segment, events, inspection, is_last=is_last)
    outcomes = join(run, drift) if drift else {}
    if outcomes and (more := run.source.membership.late() - inspection.late):
        inspection = replace(inspection, late=inspection.late | more)
        drift = find_drift(run, segment, events, inspection, is_last=is_last)
    settle_joined(run, events, drift, outcomes)
    drift = reloads(run, low, high, events, inspection, is_last=is_last) + drift
    segment = replace(segment, is_inspected=is_last and sees_all(inspection, events))
    if not drift:
        return segment
    return replace(segment, parts=(*parts, _drift_part(run, segment, with_snapshot(inspection, drift))))


def _captured(run: RunContext, low: Position, high: Position) -> Sequence[Part]:
    """Write the window's files; where rules need a shape that no statement in the log has shown, with those of today.

    Raises ShapeUnknown RUL-130 where rows have neither.
    """
    window, writing = window_of(run, low, high), writing_of(run, low, run.channel.trail)
    try:
        return write_log(run, window, writing)
    except ShapeUnknown as error:
        if writing.rules is None:
            raise
        log.warning("%s; the shapes of today's catalog are looked at, too", error.message)
        shapes = run.source.catalog.inspect(sorted(run.source.membership.published()))
        return write_log(run, window, writing.with_shapes(shapes))


def _drift_part(run: RunContext, segment: Segment, drift: Sequence[Event]) -> Part:
    index = len(segment.parts)
    lines = b"".join(e.to_text().encode() + b"\n" for e in drift)
    path = f"{data_folder(run.epoch, segment.low)}/{index:04d}-{run.token}-{INSPECTED_FILE}"
    return Part(index, segment.low, segment.high, control=run.trail.write(path, lines), event_count=len(drift))


def register(run: RunContext, segment: Segment) -> Window:
    """Make a published segment part of the channel: its revisions, its events, the new position.

    Raises SourceError SRC-116 for one that an earlier run wrote, of log that was lost in a fail-over since.
    """
    require_retained(run, segment)
    events = sorted(of_source(run.trail.events(segment)), key=lambda e: e.key)
    known = run.repository.latest_revisions(run.channel.name)
    found = enrolled(run, events, known)
    size = sum(file.size for file in segment.files())
    sizes = (segment.rows, size, len(list(segment.files())))
    facts = SegmentFacts(segment.epoch, segment.low, segment.high, *sizes, segment.digest, _by_table(segment))
    ours = {i for i, r in known.items() if r.table} | {r.table_id for r in found}
    seen = [e for e in events if is_stored(e, ours, run.channel)]
    run.repository.commit_segment(run.channel.name, run.token, facts, found, segment.high, seen=seen)
    record_events(run, events)
    _record_changes(run, segment)
    run.trail.tidy(segment)
    reach("capture.repository")
    known_places = {e.key for e in seen}
    others = Counter(f"{e.tag}: {NOT_OURS}" for e in events if e.kind is EventKind.DDL and e.key not in known_places)
    return Window(segment, seen, found, others)


def _by_table(segment: Segment) -> dict[tuple[int, Position], TableRows]:
    """Return the rows of each table in the segment by where they begin: before a schema change, and after it."""
    found: dict[tuple[int, Position], TableRows] = {}
    for file in segment.files():
        key, last = (file.table_id, Position(file.first.lsn)), Position(file.last.lsn)
        known = found.get(key, TableRows(0, 0, last))
        found[key] = TableRows(known.rows + file.rows, known.bytes + file.size, max(known.last, last))
    return found


def _record_changes(run: RunContext, segment: Segment) -> None:
    """Store which tables have changed, and by how many rows, for people who look at the tables."""
    rows: Counter[int] = Counter()
    for file in segment.files():
        rows[file.table_id] += file.rows
    if rows:
        run.repository.add_table_changes(run.channel.name, rows, datetime.now(UTC))


def is_stored(event: Event, ours: set[int], channel: Channel) -> bool:
    """Does the repository count the event: is it about one of these tables, or for a Replicat?"""
    if event.kind not in STORED:
        return False
    return touches(event, ours) or (is_tableless(event, ours) and is_for_replicats(event, channel))


def touches(event: Event, ours: set[int]) -> bool:
    """Is the event about one of these tables, or maybe about any?"""
    ids = {t.id for t in event.tables} | {i for i, _ in event.dropped}
    if event.layout:
        ids.add(int(event.layout["table_id"]))
    return event.kind in (EventKind.GAP, EventKind.IGNORED) or bool(ids & ours)
