"""This module decides when two key values are equal as PostgreSQL sees them, which equal bytes alone do not show.

Types whose equality can't be decided from the bytes here (interval, citext, jsonb, arrays, collations that
ignore case, …) are left to the target.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.integrate.underlying import underlying
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import TypeDefinition, TypeKind

Ints = np.ndarray[Any, np.dtype[np.int64]]


class Equality(Enum):
    """The values of a key column compare in one of these ways."""

    BYTES = "equal bytes"
    BLANKS = "trailing blanks don't count"
    FLOAT = "-0 is 0, NaN is NaN"
    NUMERIC = "1 is 1.00, send format"
    NUMERIC_TEXT = "1 is 1.00, text"
    TARGET = "only the target can decide"


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A key column is a column of the replication key, as it is named in the rows."""

    name: str
    equality: Equality = Equality.BYTES


_BYTE_TYPES = """\
bool, int2, int4, int8, oid, xid, xid8, cid, tid, pg_lsn, money, char, name, text, varchar, uuid, bytea, bit, varbit,
date, time, timetz, timestamp, timestamptz, inet, cidr, macaddr, macaddr8, enum"""
_BYTES = frozenset(re.split(r",\s+", _BYTE_TYPES))
_COLLATED = frozenset({"text", "varchar", "bpchar"})
_BYTEWISE_COLLATIONS = frozenset({"C", "POSIX", "default", "ucs_basic"})


def equality(column: Column, encoding: str, types: Sequence[TypeDefinition] = ()) -> Equality:
    """Return how the values of this key column compare; `types` has the definitions of the types in use."""
    name, _ = underlying(column.type, types)
    if name in _COLLATED and not all(map(_is_bytewise, _collations(column, types))):
        return Equality.TARGET
    if name == "numeric":
        return Equality.NUMERIC if encoding == "binary" else Equality.NUMERIC_TEXT
    if name in ("float4", "float8"):
        return Equality.FLOAT
    if name == "bpchar":
        return Equality.BLANKS
    return Equality.BYTES if name in _BYTES else Equality.TARGET


def _collations(column: Column, types: Sequence[TypeDefinition]) -> list[str]:
    """Return the collations of the column and of any domain in use (more than its own: only costs time)."""
    of_domains = [t.collation for t in types] if column.type.kind is TypeKind.DOMAIN else []
    return [name for name in (column.collation, *of_domains) if name is not None]


def _is_bytewise(collation: str) -> bool:
    """System collations are deterministic: equal means equal bytes."""
    return collation.startswith(("pg_catalog.", '"pg_catalog".')) or collation.strip('"') in _BYTEWISE_COLLATIONS


def canonical(values: pa.Array, how: Equality) -> pa.Array:
    """Return values whose bytes are equal exactly when PostgreSQL finds the original values equal."""
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


def _without_scale(values: pa.Array) -> pa.Array:
    """Send format is digits, weight, sign, display scale (int16 each), then the digits: the scale becomes 0."""
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
