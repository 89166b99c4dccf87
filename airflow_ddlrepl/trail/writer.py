"""This module writes one part of a segment with bounded memory.

Rows are buffered per table layout; the largest buffer is flushed as a Parquet row group when all
buffers together exceed a budget. A layout that stops being current has its file closed. The few rows that many tables
have at the end go into one file (trail.pack).
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.change import Event, Op
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.stored_names import TRANSACTION_ID
from airflow_ddlrepl.ports.row_layout import Layout
from airflow_ddlrepl.trail.manifest import Blob, Part, RowFile
from airflow_ddlrepl.trail.pack import MIN_PIECES, PIECE_BYTES, add_piece
from airflow_ddlrepl.trail.place import Sink
from airflow_ddlrepl.trail.store import Trail, data_folder
from airflow_ddlrepl.trail.transaction_columns import TRANSACTIONS

ROW_GROUP_BYTES = 16 << 20
BUFFER_BYTES = 96 << 20
FILE_BYTES = 256 << 20
FILE_ROWS = 1 << 20
FILE_MEMORY = 1 << 29  # what its rows take when they are read: compressed they may be much smaller
OPEN_FILES = 64
FEW_BYTES = 1 << 12


class Discardable(Protocol):
    """A discardable writer can delete what it has written so far."""

    def discard(self) -> None:
        """Delete what was written so far, because the part failed."""
        ...


@contextmanager
def undone_on_failure(writer: Discardable) -> Iterator[None]:
    """Inside this `with` whatever ends it deletes what a writer has written: no manifest will name it."""
    try:
        yield
    except BaseException:
        writer.discard()
        raise


class PartWriter:
    """A part writer takes a part's rows, events and transactions in log order and writes their files.

    Files carry the run's token and a random name: a killed run and its successor never write the same file.
    """

    def __init__(self, trail: Trail, epoch: int, segment_low: Position, index: int, token: int = 0) -> None:
        self._trail = trail
        self._stem = f"{data_folder(epoch, segment_low)}/{index:04d}-{token}-{uuid.uuid4().hex[:12]}"
        self._index = index
        self._open: dict[tuple[int, int], _TableWriter] = {}
        self._buffered = 0
        self._shared = 0
        self._done: list[tuple[int, RowFile]] = []
        self._opened = 0
        self._paths: list[str] = []
        self._control: Sink | None = None
        self._pack: Sink | None = None
        self._events = 0
        self._transactions = _TransactionWriter()
        self._changes = 0

    def rows(self, layout: Layout, batch: pa.RecordBatch) -> None:
        """Add row changes of one table, later than all that came before for it."""
        key = (layout.table_id, layout.variant)
        writer = self._open.get(key)
        if writer is not None and writer.layout is not layout and writer.layout != layout:
            self._close(writer)
            writer = None
        if writer is None:
            path = self._new(f"{self._opened:05d}.parquet")
            writer = self._open[key] = _TableWriter(layout, self._opened, path)
            self._opened += 1
        size = writer.add(batch)
        self._buffered += size
        self._shared += size
        self._changes += batch.num_rows
        if writer.buffered >= ROW_GROUP_BYTES:
            self._flush(writer)
        while self._buffered > BUFFER_BYTES:
            self._flush(max(self._open.values(), key=lambda w: w.buffered))
        if self._shared > BUFFER_BYTES:
            self._own_rows()

    def event(self, event: Event) -> None:
        """Add the next control record."""
        if self._control is None:
            self._control = self._trail.create(self._new("control.jsonl"))
        self._control.write(event.to_text().encode() + b"\n")
        self._events += 1

    def transactions(self, batch: pa.RecordBatch) -> None:
        """Add transactions in commit order, with the schema TRANSACTIONS."""
        self._transactions.add(batch)

    def finish(self, low: Position, high: Position, bytes_read: int) -> Part:
        """Close every file and return the part; readers see nothing of it until a manifest names it."""
        small = [writer for writer in self._open.values() if writer.is_small]
        if len(small) >= MIN_PIECES:
            self._pack = self._trail.create(self._new("pack.arrows"))
        for writer in list(self._open.values()):
            self._close(writer)
        for sink in (self._control, self._pack):
            if sink:
                sink.close()
        count = self._transactions.count
        return Part(
            index=self._index,
            low=low,
            high=high,
            files=tuple(file for _, file in sorted(self._done, key=lambda item: item[0])),
            control=self._control.blob if self._control else None,
            transactions=self._trail.write(self._new("transactions.parquet"), self._transactions.data())
            if count
            else None,
            transaction_count=count,
            change_count=self._changes,
            event_count=self._events,
            bytes_read=bytes_read,
            pack=self._pack.blob if self._pack else None,
        )

    def discard(self) -> None:
        """Delete what was written so far, because the part failed."""
        for writer in self._open.values():
            writer.abandon()
        for sink in (self._control, self._pack):
            if sink:
                sink.abandon()
        for path in self._paths:
            with suppress(DdlReplError):  # the first error matters more; what stays, no manifest names
                self._trail.place.remove(path)
        self._open, self._done, self._paths = {}, [], []

    def _own_rows(self) -> None:
        """Let each table have its rows by themselves: they may be pieces of what many tables share, and retain it."""
        self._shared = 0
        for writer in self._open.values():
            writer.own_rows()

    def _new(self, name: str) -> str:
        """Return the path of a file that is about to be written."""
        self._paths.append(f"{self._stem}-{name}")
        return self._paths[-1]

    def _flush(self, writer: _TableWriter) -> None:
        if not writer.is_open and sum(w.is_open for w in self._open.values()) >= OPEN_FILES:
            self._close(min((w for w in self._open.values() if w.is_open), key=lambda w: w.last))
        self._buffered -= writer.buffered
        writer.flush(self._trail)
        if writer.size >= FILE_BYTES or writer.rows >= FILE_ROWS or writer.memory >= FILE_MEMORY:
            self._close(writer)

    def _close(self, writer: _TableWriter) -> None:
        self._buffered -= writer.buffered
        self._done.append((writer.number, writer.finish(self._trail, self._pack)))
        del self._open[writer.layout.table_id, writer.layout.variant]
        reach("capture.rows")


class _TableWriter:
    """A table writer collects one row file: the changes of one table in one layout."""

    def __init__(self, layout: Layout, number: int, path: str) -> None:
        self.layout = layout
        self.number = number
        self.buffered = 0
        self.memory = 0
        self._path = path
        self._batches: list[pa.RecordBatch] = []
        self._sink: Sink | None = None
        self._writer: pq.ParquetWriter | None = None
        self._first: LogKey | None = None
        self.last = LogKey(0, 0)
        self._counts = np.zeros(8, dtype=np.int64)
        self._key_updates = 0
        self._absent = 0

    @property
    def is_open(self) -> bool:
        return self._sink is not None

    @property
    def is_small(self) -> bool:
        """Do all rows fit into a pack, with none in a file yet?"""
        return not self.is_open and self.buffered <= PIECE_BYTES

    @property
    def size(self) -> int:
        return self._sink.size if self._sink else 0

    @property
    def rows(self) -> int:
        return int(self._counts.sum())

    def add(self, batch: pa.RecordBatch) -> int:
        """Add a batch of row changes, and return its size in bytes."""
        lsn, seq = batch.column("lsn"), batch.column("seq")
        end = batch.num_rows - 1
        self.last = LogKey(lsn[end].as_py(), seq[end].as_py())
        self._first = self._first or (LogKey(lsn[0].as_py(), seq[0].as_py()) if end else self.last)
        op, before = batch.column("op").to_numpy(), batch.column("before").to_numpy()
        self._counts += np.bincount(op, minlength=8)
        self._key_updates += int(np.count_nonzero((op == Op.UPDATE) & (before != 0)))
        self._absent += batch.num_rows - int(batch.column("absent").null_count)
        self._batches.append(batch)
        size = _size(batch)
        self.buffered += size
        self.memory += size
        return size

    def own_rows(self) -> None:
        """Copy the rows that are not in a file yet out of what they share with other tables."""
        self._batches = [pa.ipc.read_record_batch(batch.serialize(), batch.schema) for batch in self._batches]

    def flush(self, trail: Trail) -> None:
        if not self._batches:
            return
        table = pa.Table.from_batches(self._batches)
        self._batches, self.buffered = [], 0
        if self._writer is None:
            self._sink = trail.create(self._path)
            self._writer = _parquet(self._sink, table.schema)
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))

    def abandon(self) -> None:
        if self._sink:
            self._sink.abandon()

    def finish(self, trail: Trail, pack: Sink | None) -> RowFile:
        blob, counts = self._written(trail, pack), self._counts
        assert self._first
        return RowFile(
            path=blob.path,
            table_id=self.layout.table_id,
            schema=self.layout.schema,
            name=self.layout.name,
            identity=self.layout.identity,
            columns=self.layout.columns,
            first=self._first,
            last=self.last,
            rows=self.rows,
            inserts=int(counts[Op.INSERT]),
            updates=int(counts[Op.UPDATE]),
            deletes=int(counts[Op.DELETE]),
            key_updates=self._key_updates,
            absent=self._absent,
            size=blob.size,
            checksum=blob.checksum,
            offset=blob.offset,
            memory=self.memory,
            shape=self.layout.shape,
            is_transformed=self.layout.is_transformed,
        )

    def _written(self, trail: Trail, pack: Sink | None) -> Blob:
        if pack is not None and self.is_small:
            return add_piece(pack, self._batches)
        self.flush(trail)
        assert self._writer and self._sink
        self._writer.close()
        self._sink.close()
        return self._sink.blob


def _size(batch: pa.RecordBatch) -> int:
    """Return the bytes of a batch; of a small one those of its buffers, for counting what it has of them takes long."""
    buffers = int(batch.get_total_buffer_size())
    return buffers if buffers <= FEW_BYTES else int(batch.nbytes)


class _TransactionWriter:
    """A transaction writer writes the transactions of a part as one small Parquet file, compressed as it grows."""

    def __init__(self) -> None:
        self.count = 0
        self._buffer = io.BytesIO()
        self._pending: list[pa.RecordBatch] = []
        self._writer: pq.ParquetWriter | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        self.count += batch.num_rows
        self._pending.append(batch)
        if sum(b.num_rows for b in self._pending) >= 1 << 18:
            self._flush()

    def data(self) -> bytes:
        self._flush()
        assert self._writer
        self._writer.close()
        return self._buffer.getvalue()

    def _flush(self) -> None:
        self._writer = self._writer or _parquet(self._buffer, TRANSACTIONS)
        if self._pending:
            self._writer.write_table(pa.Table.from_batches(self._pending, TRANSACTIONS))
            self._pending = []


def _parquet(sink: Sink | io.BytesIO, schema: pa.Schema) -> pq.ParquetWriter:
    plain: Sequence[str] = ("lsn", "op", "before", TRANSACTION_ID, "origin")
    return pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=[name for name in plain if name in schema.names],
        write_statistics=["lsn"],
        store_schema=False,
    )
