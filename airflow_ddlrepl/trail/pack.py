"""A pack is one file with the few rows of each of many tables.

For twenty rows a Parquet file costs more than reading them from the log and merging them: it is made,
synchronised, opened and checked, and describes each of its columns twice. In a pack each table's rows are a piece: an
Arrow stream, compressed, after its own size (8 bytes).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache

import pyarrow as pa

from airflow_ddlrepl.trail.checksum import checksum
from airflow_ddlrepl.trail.manifest import Blob
from airflow_ddlrepl.trail.place import Sink

MIN_PIECES = 8  # fewer tables have a Parquet file each
PIECE_BYTES = 1 << 16
_SIZE = struct.Struct("<q")
_END = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream: a message without a length


@cache
def _codec() -> pa.Codec:
    return pa.Codec("zstd", 1)


def add_piece(sink: Sink, batches: Sequence[pa.RecordBatch]) -> Blob:
    """Write a table's rows, all of one schema, at the end of the pack, and return where they are."""
    plain = b"".join([batches[0].schema.serialize(), *(batch.serialize() for batch in batches), _END])
    piece = _SIZE.pack(len(plain)) + _codec().compress(plain, asbytes=True)
    offset = sink.size
    sink.write(piece)
    return Blob(sink.path, len(piece), checksum(piece), offset)


def read_piece(piece: bytes) -> pa.Table:
    """Return the rows of a piece that `add_piece` wrote."""
    (size,) = _SIZE.unpack_from(piece)
    with pa.ipc.open_stream(_codec().decompress(piece[_SIZE.size :], size)) as stream:
        return stream.read_all()
