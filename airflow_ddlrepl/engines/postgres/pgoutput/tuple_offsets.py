"""This module finds every column's value in many row tuples at once, without copying any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import Codec
from airflow_ddlrepl.engines.postgres.pgoutput.control_messages import Malformed
from airflow_ddlrepl.engines.postgres.pgoutput.wire import AnyArray, Ints, Mask, Messages

NULL, UNCHANGED, TEXT, BINARY = b"nutb"


@dataclass(slots=True)
class Field:
    """A field is one column of a group of rows: where each value starts, how long it is.

    valid: None when every row has a value. unchanged: rows whose value the log left out (TOAST).
    """

    start: Ints
    length: Ints | int
    valid: Mask | None = None
    unchanged: Mask | None = None

    def lengths(self) -> AnyArray:
        """Return the length of the field in each row, in bytes."""
        return np.full(len(self.start), self.length) if isinstance(self.length, int) else self.length


def walk(data: Messages, place: Ints, codecs: Sequence[Codec], mark: int) -> tuple[list[Field], Ints]:
    """Return the columns of the tuples that start at `place` (at their column count), and where each tuple ends.

    mark: TEXT or BINARY, the format in which values may come.
    """
    if len(place) and not (data.gather(">i2", place) == len(codecs)).all():
        raise Malformed("a row has another number of columns than its relation")
    place = place + 2
    fields = []
    for codec in codecs:
        field, place = _column(data, place, codec.size if mark == BINARY else 0, mark)
        fields.append(field)
    return fields, place


def _column(data: Messages, place: Ints, size: int, mark: int) -> tuple[Field, Ints]:
    kinds = data.bytes[place]
    if (kinds == mark).all():
        if size:
            return Field(place + 5, size), place + (5 + size)
        length = data.gather(">i4", place + 1).astype(np.int64)
        start = place + 5
        return Field(start, length), start + length
    has = kinds == mark
    unchanged = kinds == UNCHANGED
    if not (has | unchanged | (kinds == NULL)).all():
        raise Malformed("a value comes in a format that was not asked for")
    rows = np.flatnonzero(has)
    length = np.zeros(len(place), np.int64)
    length[rows] = data.gather(">i4", place[rows] + 1)
    following = place + 1 + has * 4 + length
    return Field(place + 5, length, has, unchanged if unchanged.any() else None), following


def fill(field: Field, old: Field, rows: Ints) -> Field:
    """Return the field with unchanged values taken from the old tuples.

    rows: the rows of the field that the old tuples are of.
    """
    if field.unchanged is None:
        return field
    from_old = field.unchanged[rows] & (True if old.valid is None else old.valid)
    source, goal = np.flatnonzero(from_old), rows[from_old]
    start, length = field.start.copy(), field.lengths().copy()
    start[goal], length[goal] = old.start[source], old.lengths()[source]
    valid, unchanged = (
        (field.valid if field.valid is not None else np.ones(len(start), np.bool_)),
        field.unchanged.copy(),
    )
    valid = valid.copy()
    valid[goal] = True
    unchanged[rows] = False
    return Field(start, length, valid, unchanged if unchanged.any() else None)
