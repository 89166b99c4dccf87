"""This module reads a trail's files and returns only what matches its manifest's size and checksum."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_ddlrepl.errors import FileDamaged, FileMissing
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.trail.checksum import checksum
from airflow_ddlrepl.trail.manifest import Blob, RowFile
from airflow_ddlrepl.trail.pack import read_piece
from airflow_ddlrepl.trail.place import Place

SEGMENT_FILE = re.compile(r"e(\d+)/data/([0-9a-f]{16})/")  # epoch, where it begins
NEW_TRAIL_HINT = (
    "If it is lost for good: `ddlrepl activate --new-trail` begins another trail and loads every table again"
)


class RowReader:
    """A row reader reads the files of a trail, and checks each against its manifest."""

    place: Place
    _mapped: tuple[str, mmap.mmap] | None = None

    def verify(self, file: RowFile | Blob) -> None:
        """Check a file; raise TrailError TRL-101 (missing), TRL-102 (wrong size) or TRL-103 (checksum)."""
        self._checked(file.blob if isinstance(file, RowFile) else file)

    def bytes_of(self, blob: Blob) -> bytes:
        """Return the bytes of a whole file, verified."""
        return bytes(self._checked(blob))

    def rows(self, file: RowFile, low: LogKey, high: LogKey, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the changes of a row file with low <= (lsn, seq) < high, in log order.

        columns: names in the file, all when None.
        """
        batches = list(self.batches(file, low, high, columns))
        if batches:
            return pa.concat_tables(batches)
        packed = file.offset is not None
        schema = read_piece(self.bytes_of(file.blob)).schema if packed else pq.read_schema(self.open(file.blob))
        return schema.empty_table().select(list(columns) if columns is not None else schema.names)

    def batches(
        self,
        file: RowFile,
        low: LogKey,
        high: LogKey,
        columns: Sequence[str] | None = None,
        optional: Sequence[str] = (),
    ) -> Iterator[pa.Table]:
        """Yield the changes with low <= (lsn, seq) < high in pieces, so that no large file is in memory as a whole.

        columns: names in the file, all when None. optional: others that are read as far as the file has them.
        """
        if file.last < low or file.first >= high:
            return
        whole = file.first >= low and file.last < high
        if file.offset is not None:
            table = read_piece(self.bytes_of(file.blob))
            within = table if whole else _within(table, low, high)
            if within.num_rows:
                yield within.select(_wanted(table.schema, columns, optional))
            return
        source = pq.ParquetFile(self.open(file.blob))
        wanted = _wanted(source.schema_arrow, columns, optional)
        read = None if columns is None else list(dict.fromkeys([*wanted, "lsn", "seq"]))
        for group in range(source.num_row_groups):
            if not whole and _outside(source.metadata.row_group(group), low, high):
                continue
            table = source.read_row_group(group, columns=read)
            within = table if whole else _within(table, low, high)
            if within.num_rows:
                yield within.select(wanted)

    def check_size(self, blob: Blob) -> None:
        """Check that a file is there with its size; raise TrailError TRL-101 or TRL-102."""
        size = self.place.size(blob.path)
        if size is None:
            raise _missing(blob)
        if size != blob.size if blob.offset is None else size < blob.offset + blob.size:
            raise _wrong_size(blob, size)

    def open(self, blob: Blob) -> pa.BufferReader:
        """Open a whole file for reading, verified; a local one is mapped, not read into memory."""
        return pa.BufferReader(self._checked(blob))

    def _checked(self, blob: Blob) -> Any:
        """Return the file's bytes (mapped when it is local), after a check of size and checksum."""
        data = self._load(blob)
        if len(data) != blob.size:
            raise _wrong_size(blob, len(data))
        found = checksum(data, like=blob.checksum)
        if found != blob.checksum:
            raise FileDamaged(
                f"trail file {blob.path} is damaged: its checksum is {found}, not {blob.checksum}",
                code="TRL-103",
                at=segment_start(blob.path),
                hint=f"restore the file. {NEW_TRAIL_HINT}",
            )
        return data

    def _load(self, blob: Blob) -> Any:
        if not self.place.is_local:
            data = self.place.read(blob.path, blob.offset, blob.size)
            if data is None:
                raise _missing(blob)
            return data
        try:
            if blob.offset is not None:
                return self._pack(blob.path)[blob.offset : blob.offset + blob.size]
            with open(self.place.full(blob.path), "rb") as file:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if blob.size else file.read()
        except FileNotFoundError:
            raise _missing(blob) from None
        except ValueError:
            return b""

    def _pack(self, path: str) -> mmap.mmap:
        """Return the bytes of a file, mapped; the last one stays mapped: thousands of pieces are read one by one."""
        if self._mapped is None or self._mapped[0] != path:
            with open(self.place.full(path), "rb") as file:
                self._mapped = path, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return self._mapped[1]


def segment_start(path: str) -> Position | None:
    """Return where the segment begins that a file belongs to; None for a file of archived rows."""
    found = SEGMENT_FILE.match(path)
    return Position(int(found[2], 16)) if found else None


def _missing(blob: Blob) -> FileMissing:
    return FileMissing(
        f"trail file {blob.path} is missing",
        code="TRL-101",
        at=segment_start(blob.path),
        hint=f"restore the file. {NEW_TRAIL_HINT}",
    )


def _wrong_size(blob: Blob, size: int) -> FileDamaged:
    return FileDamaged(
        f"trail file {blob.path} has {size} bytes, its manifest says {blob.size}",
        code="TRL-102",
        at=segment_start(blob.path),
        hint=f"the file is truncated or was changed: restore it. {NEW_TRAIL_HINT}",
    )


def _wanted(schema: pa.Schema, columns: Sequence[str] | None, optional: Sequence[str]) -> list[str]:
    if columns is None:
        return list(schema.names)
    there = set(schema.names)
    return [*columns, *(name for name in optional if name in there and name not in columns)]


def _within(table: pa.Table, low: LogKey, high: LogKey) -> pa.Table:
    """Return the changes with low <= (lsn, seq) < high; a table in log order is cut, not copied."""
    import numpy as np

    lsn, seq = table["lsn"].to_numpy(), table["seq"].to_numpy()
    after = (lsn > low.lsn) | ((lsn == low.lsn) & (seq >= low.seq))
    before = (lsn < high.lsn) | ((lsn == high.lsn) & (seq < high.seq))
    chosen = np.flatnonzero(after & before)
    if len(chosen) and chosen[-1] - chosen[0] + 1 != len(chosen):
        return table.take(pa.array(chosen))
    return table.slice(int(chosen[0]) if len(chosen) else 0, len(chosen))


def _outside(group: pq.RowGroupMetaData, low: LogKey, high: LogKey) -> bool:
    statistics = group.column(0).statistics
    if statistics is None or not statistics.has_min_max:
        return False
    return bool(statistics.max < low.lsn or statistics.min > high.lsn)


__all__ = ["RowReader"]
