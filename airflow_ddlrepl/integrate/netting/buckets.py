"""This module spreads the rows of one big table over parallel tasks by their key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.integrate.netting.equality import Ints, KeyColumn, canonical, ends
from airflow_ddlrepl.integrate.netting.keys import ids_by_row, key_rows, key_values

Hashes = np.ndarray[Any, np.dtype[np.uint64]]


def bucket_of(changes: pa.Table, key: Sequence[KeyColumn], buckets: int) -> Ints:
    """Return the bucket of each row's key, the same in every process; rows with key updates are not allowed."""
    new_at, old_at = key_rows(changes)
    mixed = np.zeros(len(new_at) + len(old_at), np.uint64)
    for column in key:
        values = canonical(key_values(changes, column.name, new_at, old_at), column.equality)
        mixed = _mix(mixed * np.uint64(0x9E3779B97F4A7C15) + _hash(values))
    ids = ids_by_row((mixed % np.uint64(buckets)).astype(np.int64), new_at, old_at, changes.num_rows)
    return np.where(ids.new >= 0, ids.new, ids.old)


def _mix(x: Hashes) -> Hashes:
    mixed: Hashes = (x ^ (x >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return mixed ^ (mixed >> np.uint64(29))


def _hash(values: pa.Array) -> Hashes:
    """Return a number for each value, computed from all of its bytes."""
    if not (pa.types.is_string(values.type) or pa.types.is_binary(values.type)):
        if pa.types.is_boolean(values.type):
            values = values.cast(pa.int8())
        plain: Hashes = values.to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
        return plain
    bounds = ends(values)
    length = np.diff(bounds)
    data = values.buffers()[2]
    body = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]] if data else np.zeros(0, np.uint8)
    place = np.arange(len(body)) - np.repeat(bounds[:-1] - bounds[0], length)
    sums = np.zeros(len(body) + 1, np.uint64)
    np.cumsum(_mix((place.astype(np.uint64) << np.uint64(8)) + body + np.uint64(1)), out=sums[1:])
    at = bounds - bounds[0]
    return _mix(sums[at[1:]] - sums[at[:-1]] + length.astype(np.uint64))
