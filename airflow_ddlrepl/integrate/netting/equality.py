"""This module turns equal key values into equal bytes; what is equal is decided by the type system of their column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.ports.types import Equality

Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A key column is a column of the replication key, by its name in the rows."""

    name: str
    equality: Equality = Equality.BYTES


def canonical(values: pa.Array, how: Equality) -> pa.Array:
    """Return values whose bytes are equal exactly when the original values are equal."""
    if how is Equality.BLANKS:
        return pc.utf8_rtrim(values, " ")
    if how is Equality.FLOAT:
        return _float(values)
    if how is Equality.NUMERIC:
        return _without_scale(values)
    if how is Equality.NUMERIC_TEXT:
        shorter = pc.replace_substring_regex(values, r"(\.\d*?)0+$", r"\1")
        return pc.replace_substring_regex(shorter, r"\.$", "")
    return values


def exact(values: pa.Array) -> pa.Array:
    """Return floats as their bits, so that -0 differs from 0 in a row's image."""
    same_width = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}
    return values.view(same_width[values.type]) if values.type in same_width else values


def _without_scale(values: pa.Array) -> pa.Array:
    """Return binary numbers with display scale 0, so that equal numbers have equal bytes.

    The format is digits, weight, sign, display scale (int16 each), then the digits.
    """
    bounds = ends(values)
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8).copy()
    starts = bounds[:-1][np.diff(bounds) >= 8]
    data[starts + 6] = 0
    data[starts + 7] = 0
    buffers = [values.buffers()[0], values.buffers()[1], pa.py_buffer(data)]
    return pa.Array.from_buffers(values.type, len(values), buffers, offset=values.offset)


def ends(values: pa.Array) -> Ints:
    """Return where each value of a string or binary array starts, and where the last one ends."""
    offsets = np.frombuffer(values.buffers()[1], np.int32)
    return offsets[values.offset : values.offset + len(values) + 1].astype(np.int64)


def _float(values: pa.Array) -> pa.Array:
    numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return pa.array(numbers.view(np.int64))
