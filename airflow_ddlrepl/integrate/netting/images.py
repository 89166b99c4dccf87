"""This module nets the changes of tables without a key: it counts how many copies of each whole row come and go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.integrate.netting.equality import Ints, exact
from airflow_ddlrepl.integrate.netting.keys import KeyIds, renumber
from airflow_ddlrepl.integrate.netting.presence import has_old_rows
from airflow_ddlrepl.model.change import Op


class OldRowMissing(Exception):
    """This exception says that an update or delete came without its whole old row."""


def net_images(changes: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return each different whole row once, with the number of its copies that come or go.

    Columns: `a_<column>` and `copies` (int64; negative: as many are deleted); it is never 0.
    Raises OldRowMissing where an UPDATE or DELETE lacks it.
    """
    if not has_old_rows(changes):
        raise OldRowMissing
    op = changes["op"].to_numpy()
    came, went = np.flatnonzero(op != Op.DELETE), np.flatnonzero(op != Op.INSERT)
    images = {c: _both(changes, c, came, went) for c in columns}
    codes = _codes(images.values(), len(came) + len(went))
    copies, first = _sums(codes, len(came))
    at = np.flatnonzero(copies)
    return pa.table(
        {**{f"a_{c}": values.take(pa.array(first[at])) for c, values in images.items()}, "copies": pa.array(copies[at])}
    )


class SameKey(Exception):
    """This exception says that a row comes to a key under which the source has another row."""


def require_distinct(changes: pa.Table, ids: KeyIds, columns: Sequence[str]) -> None:
    """Raise SameKey where two rows of the source have one key at a time, or may have.

    Each change must be about the row that the change before it left under its key: their whole images tell.
    """
    op = changes["op"].to_numpy()
    came, went = np.flatnonzero(op != Op.DELETE), np.flatnonzero(op != Op.INSERT)
    codes = _codes((_both(changes, column, came, went) for column in columns), len(came) + len(went))
    new, old = np.full(len(op), -1, np.int64), np.full(len(op), -1, np.int64)
    new[came], old[went] = codes[: len(came)], codes[len(came) :]
    there: dict[int, int] = {}
    rows = zip(op.tolist(), ids.old.tolist(), ids.new.tolist(), old.tolist(), new.tolist(), strict=True)
    for kind, old_key, new_key, was, now in rows:
        if kind != Op.INSERT and there.pop(old_key, was) != was:
            raise SameKey
        if kind != Op.DELETE:
            if new_key in there:
                raise SameKey
            there[new_key] = now


def _codes(images: Iterable[pa.Array], rows: int) -> Ints:
    """Return a number for each row, equal for rows that look alike in all of these columns."""
    codes = np.zeros(rows, np.int64)
    for values in images:
        encoded = exact(values).dictionary_encode(null_encoding="encode")
        codes = renumber(codes * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False))
    return codes


def _both(changes: pa.Table, column: str, came: Ints, went: Ints) -> pa.Array:
    new = changes[f"a_{column}"].take(pa.array(came))
    old = changes[f"b_{column}"].take(pa.array(went))
    return pa.chunked_array([*new.chunks, *old.chunks], type=new.type).combine_chunks()


def _sums(codes: Ints, came: int) -> tuple[Ints, Ints]:
    """Return for each code its balance, and a place where the code occurs."""
    kinds = int(codes.max(initial=-1)) + 1
    balance = np.bincount(codes[:came], minlength=kinds) - np.bincount(codes[came:], minlength=kinds)
    first = np.zeros(kinds, np.int64)
    first[codes] = np.arange(len(codes))
    return balance.astype(np.int64), first
