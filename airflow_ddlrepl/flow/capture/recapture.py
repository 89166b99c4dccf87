"""Log that the trail has lost is read once more from the source, which holds it (`hold_log`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from airflow_ddlrepl.config.sections.ignored_sessions import of_labels
from airflow_ddlrepl.engines.abilities.of_source import RetainsLog
from airflow_ddlrepl.engines.ability import find
from airflow_ddlrepl.errors import ConfigError, FileDamaged, SourceError, TrailError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.capture.captured_log import window_of, write_log, writing_of
from airflow_ddlrepl.flow.capture.log_continuity import follow
from airflow_ddlrepl.flow.capture.window import is_stored
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.disk_space import needing
from airflow_ddlrepl.flow.run.shared_storage import check_arrived
from airflow_ddlrepl.flow.targets.stop_position import Until, require_past
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.repository.stored.rows import SegmentRow
from airflow_ddlrepl.trail.manifest import Part, Segment
from airflow_ddlrepl.trail.store import inspection_file

_INSPECTED = (EventKind.DDL, EventKind.RELATION)
Result = TypeVar("Result")


def reread_where_lost(run: RunContext, work: Callable[[], Result]) -> Result:
    """Return what the work returns; where the trail lacks a segment it is read again and the work starts over.

    Starting over must do no harm. Raises what the work raises where the source does not hold the log, TrailError
    TRL-112 where the log that it holds is not what was captured.
    """
    tried: set[str] = set()
    while True:
        try:
            return work()
        except FileDamaged as error:
            if error.at is None or error.at in tried:
                raise
            tried.add(error.at)
            row = _retained_segment(run, Position.parse(error.at))
            if row is None:
                raise
            log.warning("%s: the segment is read again from the log that the source holds", error.message)
            reread(run, row)


def require_held(run: RunContext, start: Until | Literal["oldest"]) -> list[SegmentRow]:
    """Return the segments from `start` on whose log the source still holds. Nothing is read yet.

    Raises ConfigError CFG-134 when it holds none, SourceError SRC-119 when what it holds begins later, DdlReplError
    CTL-110 for what is still to come.
    """
    since = _held_from(run)
    if since is None:
        raise ConfigError(
            "the source does not hold the captured log: capture can't start again in the past",
            code="CFG-134",
            hint="set `hold_log` under `rewind_horizon` in the channel file and activate: from then on it is held",
        )
    live = run.live_segments()
    if start == "oldest":
        return [row for row in live if row.low >= since]
    require_past(run, start)
    rows = [row for row in live if _ends_after(row, start)]
    if rows and rows[0].low < since:
        raise SourceError(
            f"the source holds its log from {since} on; to start at {start}, {rows[0].low} is needed",
            code="SRC-119",
            at=rows[0].low,
            hint="`--start-moment oldest` starts as far back as possible; `hold_log` says how much is held",
        )
    return rows


def _ends_after(row: SegmentRow, start: Until) -> bool:
    """Does a segment end after a moment or position? It is captured after all that it holds was committed."""
    return row.high > start if isinstance(start, Position) else row.created >= start


def reread(run: RunContext, row: SegmentRow) -> None:
    """Read a segment again from the source's log and replace the one in the trail by it.

    Raises TrailError TRL-112, and the trail stays as it is, when that is not what was captured.
    """
    follow(run)
    with (
        run.trail.discarded_on_failure(run.epoch, row.low, run.token),
        needing(run.positions.distance(row.low, row.high), "of log in this segment"),
    ):
        no_truncate = run.repository.has_uncaptured_truncate(run.channel.name, row)
        ignored = of_labels(run.repository.ignored_sessions(run.channel.name, row))
        window = replace(window_of(run, row.low, row.high), is_retained=True, ignored=ignored)
        writing = replace(writing_of(run, row.low, run.channel.trail), no_truncate=no_truncate)
        parts = write_log(run, window, writing)
        run.check_lock()
        check_arrived(run.trail, parts)
        place = (run.channel.name, row.epoch, run.token, row.low, row.high)
        parts += _inspected(run, row, len(parts))
        # That the catalog was inspected there, nothing tells any more.
        segment = Segment(*place, tuple(parts), log_identity=run.log_identity, is_inspected=False)
        _require_same(run, row, segment)
    reach("reread.files")
    run.check_lock()
    digest = run.trail.replace(segment)
    run.repository.set_segment_digest(run.channel.name, run.token, row.epoch, row.low, digest)


def _held_from(run: RunContext) -> Position | None:
    source = find(run.source, RetainsLog)
    return source.retained_log.held_from() if source is not None else None


def _retained_segment(run: RunContext, low: Position) -> SegmentRow | None:
    """Return the segment that begins there, if the source holds its log."""
    since = _held_from(run)
    if since is None or since > low:
        return None
    rows = run.repository.segments(run.channel.name, low, low.next)
    return next((row for row in rows if row.low == low and row.state == "live"), None)


def _inspected(run: RunContext, row: SegmentRow, index: int) -> list[Part]:
    """Return the events that the catalog showed and the log did not, where the trail still has them, as a part."""
    blob = inspection_file(run.trail, row.epoch, row.low)
    if blob is None:
        return []
    part = Part(index, row.low, row.high, control=blob)
    events = run.trail.events(Segment(run.channel.name, row.epoch, 0, row.low, row.high, (part,)))
    _require_inspected(run, row, events)
    return [replace(part, event_count=len(events))]


def _require_inspected(run: RunContext, row: SegmentRow, events: Sequence[Event]) -> None:
    """Raise TrailError TRL-112 unless the repository knows what the records of an inspection say.

    No manifest vouches for their file any more, and somebody else may have written it.
    """
    histories = run.repository.histories(run.channel.name)
    for event in events:
        is_record = event.kind is EventKind.GAP or (event.is_inspected and event.kind in _INSPECTED)
        dropped = [i for i, _ in event.dropped if i in histories]
        if not is_record or any(_has_shape(histories[i], event.key) for i in dropped):
            raise TrailError(
                f"the records of an inspection at {event.key} are not those that were captured",
                code="TRL-112",
                at=row.low,
                hint="the trail was not changed: restore the files of this segment",
            )


def _has_shape(revisions: Sequence[Revision], at: LogKey) -> bool:
    """Return whether a table was there at a place of the log."""
    known = [one for one in revisions if one.key <= at]
    return bool(known) and known[-1].table is not None


def _require_same(run: RunContext, row: SegmentRow, segment: Segment) -> None:
    """Raise TrailError TRL-112 unless the segment has as many rows as were captured, and every event that was."""
    ours = set(run.repository.histories(run.channel.name))
    events = sum(is_stored(event, ours, run.channel) for event in run.trail.events(segment))
    if segment.rows != row.rows or events < row.events:
        raise TrailError(
            f"the log that the source holds has {segment.rows} row changes and {events} schema changes up to"
            f" {row.high}; {row.rows} and {row.events} were captured",
            code="TRL-112",
            at=row.low,
            hint="the trail was not changed: restore the files of this segment. Shapes that no DDL record describes"
            " are only in the trail",
        )
