"""This module numbers key values densely: rows with one number are the same row to the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.integrate.netting.equality import Ints, KeyColumn, canonical
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.ports.types import Equality


@dataclass(frozen=True, slots=True)
class KeyIds:
    """Key ids are the numbers of each change's keys: after it (-1 for a DELETE) and before it (-1 for an INSERT)."""

    new: Ints
    old: Ints


class NeedsTargetKeys(Exception):
    """This exception is a signal, no failure: only the target can compare the key's values (see `distinct_keys`)."""


def key_ids(changes: pa.Table, key: Sequence[KeyColumn]) -> KeyIds:
    """Return the numbers of all rows' keys; raise NeedsTargetKeys where only the target can compare them."""
    if any(column.equality is Equality.TARGET for column in key):
        raise NeedsTargetKeys(", ".join(c.name for c in key if c.equality is Equality.TARGET))
    new_at, old_at = key_rows(changes)
    codes: Ints | None = None
    for column in key:
        encoded = canonical(key_values(changes, column.name, new_at, old_at), column.equality).dictionary_encode()
        these = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        codes = these if codes is None else renumber(codes * len(encoded.dictionary) + these)
    assert codes is not None
    return ids_by_row(codes, new_at, old_at, changes.num_rows)


def distinct_keys(changes: pa.Table, key: Sequence[KeyColumn]) -> tuple[pa.Table, Ints]:
    """Return the different key values, byte by byte, for the target to number, and the code of each old and new key.

    `target_keys(changes, codes, numbers)` takes the target's answer.
    """
    new_at, old_at = key_rows(changes)
    both = [key_values(changes, column.name, new_at, old_at) for column in key]
    codes = np.zeros(len(both[0]), np.int64)
    for values in both:
        encoded = values.dictionary_encode()
        codes = renumber(codes * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False))
    first = np.unique(codes, return_index=True)[1]
    values_of = pa.table({c.name: values.take(pa.array(first)) for c, values in zip(key, both)})
    return values_of, codes


def target_keys(changes: pa.Table, codes: Ints, numbers: Ints) -> KeyIds:
    """Return the keys' numbers as the target assigned them: numbers[code] is equal for equal keys."""
    new_at, old_at = key_rows(changes)
    return ids_by_row(renumber(numbers[codes]), new_at, old_at, changes.num_rows)


def ids_by_row(codes: Ints, new_at: Ints, old_at: Ints, rows: int) -> KeyIds:
    """Return the key ids of all rows from the codes of the new keys, then of the old keys that the log has.

    An update without an old key did not change its key.
    """
    new = np.full(rows, -1, np.int64)
    new[new_at] = codes[: len(new_at)]
    old = new.copy()
    old[old_at] = codes[len(new_at) :]
    return KeyIds(new, old)


def key_rows(changes: pa.Table) -> tuple[Ints, Ints]:
    """Return the row numbers that have a new key, and the row numbers that have an old one."""
    op = changes["op"].to_numpy()
    before = changes["before"].to_numpy()
    return np.flatnonzero(op != Op.DELETE), np.flatnonzero((before != 0) & (op != Op.INSERT))


def key_values(changes: pa.Table, name: str, new_at: Ints, old_at: Ints) -> pa.Array:
    """Return a key column's new values, then its old ones, at these row numbers."""
    new = _taken(changes[f"a_{name}"], new_at)
    return new if len(old_at) == 0 else pa.concat_arrays([new, _taken(changes[f"b_{name}"], old_at)])


def _taken(values: pa.ChunkedArray, at: Ints) -> pa.Array:
    whole = values.combine_chunks()
    whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
    return whole if len(at) == len(values) else whole.take(pa.array(at))


def renumber(codes: Ints) -> Ints:
    """Return one number per code, from 0 without gaps, in order of first appearance; equal codes get equal numbers."""
    return pa.array(codes).dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]
