"""This module reads the captured segments of a trail: their manifests, control records and transactions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_ddlrepl.errors import FileDamaged, FileMissing, TrailError
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.stored_names import TRANSACTION_ID
from airflow_ddlrepl.trail.manifest import Blob, Part, Segment
from airflow_ddlrepl.trail.rows import NEW_TRAIL_HINT, RowReader

MOST_KNOWN = 5_000  # events of control records, files of manifests


def commits(transactions: pa.Table) -> Iterator[tuple[int, int]]:
    """Yield the commit position and the id of each of these transactions."""
    return zip(transactions["lsn"].to_pylist(), transactions[TRANSACTION_ID].to_pylist(), strict=True)


Key = TypeVar("Key")
Value = TypeVar("Value")


class SegmentReader(RowReader):
    """A segment reader reads the captured segments of a trail."""

    channel: str
    is_own: Callable[[int, Position, str], bool] = staticmethod(lambda _epoch, _low, _digest: True)
    """Returns whether the manifest of a segment is the one that was written, by epoch, low and digest."""
    known_loads: Callable[[], Mapping[tuple[int, str], str]] = staticmethod(dict)
    """Returns the digests that the repository has of the manifests of loads, by epoch and name."""

    def find(self, epoch: int, low: Position) -> Segment | None:
        """Return the segment that starts at the position, None when there is none."""
        path = manifest_path(epoch, low)
        data = self.place.read(path)
        if data is None:
            return None
        written = digest(data)
        if (known := self._known_segments.get(written)) is not None:
            return known
        try:
            segment = Segment.from_json(json.loads(data))
        except (ValueError, TrailError) as error:
            message = f"the manifest {path} can't be read: {error}"
            raise FileDamaged(message, code="TRL-106", at=low, hint=f"restore the file. {NEW_TRAIL_HINT}") from error
        if segment.channel != self.channel:
            raise TrailError(
                f"{path} belongs to channel {segment.channel!r}",
                code="TRL-104",
                hint="give each channel its own trail folder",
            )
        return self.remember(replace(segment, digest=written))

    def remember(self, segment: Segment) -> Segment:
        """Keep a segment, so that its manifest is not parsed when it is read the next time; return it."""
        _remember(self._known_segments, segment.digest, segment, lambda one: sum(len(part.files) for part in one.parts))
        return segment

    @cached_property
    def _known_segments(self) -> dict[str, Segment]:
        """Return the manifests that were read last, by digest: a cycle reads those of its window several times."""
        return {}

    def segment(self, epoch: int, low: Position) -> Segment:
        """Return the captured segment that starts at the position.

        Raises TrailError TRL-101 when it has no manifest, TRL-113 when that is not the one that was captured.
        """
        found = self.find(epoch, low)
        if found is None:
            raise FileMissing(
                f"the manifest {manifest_path(epoch, low)} of a captured segment is missing in the trail",
                code="TRL-101",
                at=low,
                hint=f"restore the file. {NEW_TRAIL_HINT}",
            )
        if not self.is_own(epoch, low, found.digest):
            raise FileDamaged(
                f"the manifest {manifest_path(epoch, low)} is not the one that was captured: the file was changed,"
                " or comes from another copy of the trail",
                code="TRL-113",
                at=low,
                hint=f"restore the file. {NEW_TRAIL_HINT}",
            )
        return found

    def segments(self, epoch: int) -> list[Segment]:
        """Return every segment of an epoch, in log order."""
        return [self.segment(epoch, low) for low in self.starts(epoch)]

    def starts(self, epoch: int) -> list[Position]:
        """Return the positions where the segments of an epoch begin, in log order."""
        paths = self.place.walk(f"e{epoch}/segments")
        return sorted(Position(int(path.rsplit("/", 1)[1][:-5], 16)) for path in paths if path.endswith(".json"))

    def events(self, segment: Segment) -> list[Event]:
        """Return the segment's control records (DDL, truncates, messages), in log order."""
        return [event for part in segment.parts for event in self.part_events(part)]

    def part_events(self, part: Part) -> list[Event]:
        """Return the control records of one part of a segment, in log order."""
        if not part.control:
            return []
        known = self._known_events.get(part.control)
        if known is None:
            known = [Event.from_text(line.decode()) for line in self.bytes_of(part.control).splitlines()]
            _remember(self._known_events, part.control, known, len)
        return list(known)

    @cached_property
    def _known_events(self) -> dict[Blob, list[Event]]:
        """Return the control records that were read last: a cycle reads those of its window several times."""
        return {}

    def transactions(self, segment: Segment) -> pa.Table:
        """Return the segment's transactions in commit order.

        Columns: TRANSACTIONS of `transaction_columns`; committed counts µs since 1970.
        """
        return self.transactions_in([p.transactions for p in segment.parts if p.transactions])

    def transactions_in(self, files: Iterable[Blob], columns: Sequence[str] = ()) -> pa.Table:
        """Return the transactions in these files of the trail; columns: some of those of `transactions`; empty: all."""
        from airflow_ddlrepl.trail.transaction_columns import TRANSACTIONS  # loads Arrow

        wanted = list(columns) or TRANSACTIONS.names
        tables = [pq.read_table(pa.BufferReader(self.bytes_of(file)), columns=wanted) for file in files]
        return pa.concat_tables([TRANSACTIONS.empty_table().select(wanted), *tables])


def _remember(known: dict[Key, Value], key: Key, value: Value, size: Callable[[Value], int]) -> None:
    """Keep a value with those that are known, alone where they are too large together."""
    if size(value) <= MOST_KNOWN:
        if sum(map(size, known.values())) + size(value) > MOST_KNOWN:
            known.clear()
        known[key] = value


def digest(manifest: bytes) -> str:
    """Return the digest of a manifest, as the repository stores it."""
    return f"sha256:{hashlib.sha256(manifest).hexdigest()}"


def manifest_path(epoch: int, low: Position) -> str:
    """Return the path of the manifest of the segment that starts at `low`."""
    return f"e{epoch}/segments/{low:016x}.json"
