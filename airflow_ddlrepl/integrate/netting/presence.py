"""This module finds what changes came with: the columns that an update has a value of, and whole old rows.

A value that the log left out is absent, not NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.model.change import Op

Flags = np.ndarray[Any, np.dtype[np.bool_]]


def absent_columns(absent: pa.ChunkedArray, layout: Sequence[str]) -> dict[str, Flags]:
    """Return in which rows each column is absent, for the columns that are absent in some row.

    layout: the columns in the order of the bitmap.
    """
    if absent.null_count == len(absent):
        return {}
    encoded = absent.combine_chunks().dictionary_encode()
    width = (len(layout) + 7) // 8
    packed = np.zeros((len(encoded.dictionary) + 1, width), np.uint8)
    for at, bitmap in enumerate(encoded.dictionary.to_pylist()):
        packed[at, : len(bitmap)] = np.frombuffer(bitmap[:width], np.uint8)
    kinds = np.unpackbits(packed, axis=1, bitorder="little")[:, : len(layout)].astype(bool)
    kind = pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    return {layout[int(i)]: kinds[kind, i] for i in np.flatnonzero(kinds.any(axis=0))}


def with_whole_keys(changes: pa.Table, key: Sequence[str], absent: dict[str, Flags]) -> pa.Table:
    """Return the changes with absent key values filled in from the old key.

    An absent key value did not change, and the log then always has the old key.
    """
    for name in key:
        flags = absent.pop(name, None)
        if flags is not None:
            whole = pc.if_else(pa.array(flags), changes[f"b_{name}"], changes[f"a_{name}"])
            changes = changes.set_column(changes.column_names.index(f"a_{name}"), f"a_{name}", whole)
    return changes


def has_old_rows(changes: pa.Table) -> bool:
    """Return whether every update and delete has its whole old row."""
    return not ((changes["op"].to_numpy() != Op.INSERT) & (changes["before"].to_numpy() != 2)).any()
