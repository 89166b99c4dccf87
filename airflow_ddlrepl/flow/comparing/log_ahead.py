"""The log ahead of a target is what the source has committed and the target has not applied, captured or not.

What is captured is read from the trail. The rest is read from the source into a folder of its own, which is removed
afterwards; nothing is confirmed to the source, and a capture may go on meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory

from airflow_ddlrepl.errors import SourceError, TrailError
from airflow_ddlrepl.flow.capture.captured_log import window_of, write_log, writing_of
from airflow_ddlrepl.flow.capture.log_continuity import require_source
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.model.change import Event, why_ignored
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.stored_names import TRANSACTION_ID
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.stored.rows import SegmentRow
from airflow_ddlrepl.trail.manifest import Part, RowFile
from airflow_ddlrepl.trail.segments import commits
from airflow_ddlrepl.trail.store import Trail

TRIES = 5
"""So often the log is read again whose beginning a capture has just taken over into the trail."""


@dataclass(frozen=True)
class Piece:
    """A piece of the log lies in one trail. parts: of it, in log order."""

    trail: Trail
    url: str = field(repr=False)
    parts: Sequence[Part]


@dataclass
class LogAhead:
    """The log from the position of the target that is furthest behind on, up to `high`."""

    high: Position
    pieces: Sequence[Piece]
    _events: list[Event] | None = field(default=None, repr=False)

    def events(self) -> Sequence[Event]:
        """Return what the log has beside rows and what targets do not discard, in log order."""
        if self._events is None:
            found = [e for piece in self.pieces for part in piece.parts for e in piece.trail.part_events(part)]
            self._events = [event for event in found if not why_ignored(event) and not event.is_transformed]
        return self._events

    def files(self, table_id: int, low: Position) -> list[tuple[str, tuple[RowFile, ...]]]:
        """Return the files with row changes of a table from a position on, by the URL of their trail."""
        found = []
        for piece in self.pieces:
            files = tuple(
                file
                for part in piece.parts
                for file in part.files
                if file.table_id == table_id and file.last.lsn >= low and file.first.lsn < self.high
            )
            found += [(piece.url, files)] if files else []
        return found

    def commits(self, low: Position) -> Iterator[tuple[int, int]]:
        """Yield commit position and transaction id of the transactions from a position on."""
        for piece in self.pieces:
            blobs = [part.transactions for part in piece.parts if part.transactions and part.high > low]
            yield from commits(piece.trail.transactions_in(blobs, ("lsn", TRANSACTION_ID)))


@contextmanager
def log_ahead(run: RunContext, low: Position, high: Position) -> Iterator[LogAhead]:
    """Read the log from `low` up to `high`; its files are there inside the `with`.

    Raises SourceError or TrailError where it can't be read.
    """
    with TemporaryDirectory(prefix="ddlrepl-compare-") as folder:
        for left in reversed(range(TRIES)):
            captured = run.captured()
            try:
                beyond = _uncaptured(run, captured, high, f"{folder}/{left}") if captured < high else []
                break
            except SourceError:
                if not left or run.captured() == captured:
                    raise
                log.info("the log after %s was captured meanwhile: it is read from the trail", captured)
        known = run.repository.segments(run.channel.name, low)
        rows = [row for row in known if row.high > low and row.low < min(captured, high)]
        _require_retained(rows, low)
        parts = [part for row in rows for part in run.trail.segment(row.epoch, row.low).parts]
        yield LogAhead(high, [Piece(run.trail, run.channel.trail, parts), *beyond])


def _require_retained(rows: Sequence[SegmentRow], low: Position) -> None:
    """Raise TrailError TRL-124 where a cycle beside the comparison has expired log that it needs."""
    if any(row.state != "live" for row in rows):
        raise TrailError(
            "the trail does not retain the log of the comparison's time any more",
            code="TRL-124",
            at=low,
            hint="set `retention` longer than a comparison takes",
        )


def _uncaptured(run: RunContext, low: Position, high: Position, folder: str) -> list[Piece]:
    """Read log that is not captured, window by window, as a capture reads it."""
    require_source(run, low)
    url = f"file://{folder}"
    parts: list[Part] = []
    while low < high:
        end = min(high, run.positions.limit(low, run.channel.capture.window_bytes))
        if run.source.has_changes(low, end):
            window = replace(window_of(run, low, end), is_beside=True, parallelism=1)
            parts += write_log(run, window, writing_of(run, low, url), InProcess())
        low = end
    return [Piece(Trail(url, run.channel.name), url, parts)] if parts else []
