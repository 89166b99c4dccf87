"""Keys become dense numbers: rows with the same number are the same row to PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.integrate.equality import Equality, Ints, KeyColumn, canonical
from airflow_ddlrepl.model.change import Op


@dataclass(frozen=True, slots=True)
class KeyIds:
    """Per row the number of its key after the change (-1 for a DELETE) and before it (-1 for an INSERT)."""

    new: Ints
    old: Ints


class NeedsTargetKeys(Exception):
    """Signal, not a failure: the key's equality has to be asked from the target (see `distinct_keys`)."""


def key_ids(changes: pa.Table, key: Sequence[KeyColumn]) -> KeyIds:
    """Numbers the keys of all rows. Raises NeedsTargetKeys."""
    if any(column.equality is Equality.TARGET for column in key):
        raise NeedsTargetKeys(", ".join(c.name for c in key if c.equality is Equality.TARGET))
    new_at, old_at = sides(changes)
    codes: Ints | None = None
    for column in key:
        encoded = canonical(both_sides(changes, column.name, new_at, old_at), column.equality).dictionary_encode()
        these = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        codes = these if codes is None else dense(codes * len(encoded.dictionary) + these)
    assert codes is not None
    return spread(codes, new_at, old_at, changes.num_rows)


def distinct_keys(changes: pa.Table, key: Sequence[KeyColumn]) -> tuple[pa.Table, Ints]:
    """The different key values, byte by byte, for the target to number; with the code of each old and new key.

    `target_keys(changes, codes, numbers)` takes the target's answer.
    """
    new_at, old_at = sides(changes)
    both = [both_sides(changes, column.name, new_at, old_at) for column in key]
    codes = np.zeros(len(both[0]), np.int64)
    for values in both:
        encoded = values.dictionary_encode()
        codes = dense(codes * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False))
    first = np.unique(codes, return_index=True)[1]
    values_of = pa.table({c.name: values.take(pa.array(first)) for c, values in zip(key, both)})
    return values_of, codes


def target_keys(changes: pa.Table, codes: Ints, numbers: Ints) -> KeyIds:
    """The keys as the target numbered them: numbers[code] is the same for equal keys."""
    new_at, old_at = sides(changes)
    return spread(dense(numbers[codes]), new_at, old_at, changes.num_rows)


def spread(codes: Ints, new_at: Ints, old_at: Ints, rows: int) -> KeyIds:
    """Codes of the new keys, then of the old keys that the log told; an update without old key kept its key."""
    new = np.full(rows, -1, np.int64)
    new[new_at] = codes[: len(new_at)]
    old = new.copy()
    old[old_at] = codes[len(new_at) :]
    return KeyIds(new, old)


def sides(changes: pa.Table) -> tuple[Ints, Ints]:
    """Row numbers that have a new key, row numbers that have an old one."""
    op = changes["op"].to_numpy()
    before = changes["before"].to_numpy()
    return np.flatnonzero(op != Op.DELETE), np.flatnonzero((before != 0) & (op != Op.INSERT))


def both_sides(changes: pa.Table, name: str, new_at: Ints, old_at: Ints) -> pa.Array:
    new = _taken(changes[f"a_{name}"], new_at)
    return new if len(old_at) == 0 else pa.concat_arrays([new, _taken(changes[f"b_{name}"], old_at)])


def _taken(values: pa.ChunkedArray, at: Ints) -> pa.Array:
    whole = values.combine_chunks()
    whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
    return whole if len(at) == len(values) else whole.take(pa.array(at))


def dense(codes: Ints) -> Ints:
    """The same classes, numbered from 0 without gaps in order of first appearance."""
    return pa.array(codes).dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]
