"""This module decodes the row messages of one relation into one Arrow batch."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.engines.postgres.pgoutput.arrow_columns import absent_bitmaps, column, expand, primitive
from airflow_ddlrepl.engines.postgres.pgoutput.control_messages import Malformed
from airflow_ddlrepl.engines.postgres.pgoutput.relation_layout import Compiled
from airflow_ddlrepl.engines.postgres.pgoutput.tuple_offsets import Field, fill, walk
from airflow_ddlrepl.engines.postgres.pgoutput.wire import AnyArray, Ints, Messages
from airflow_ddlrepl.model.change import Op

INSERT, UPDATE, DELETE = ord("I"), ord("U"), ord("D")
KEY, OLD, NEW = ord("K"), ord("O"), ord("N")
OPS = np.zeros(256, np.int8)
OPS[INSERT], OPS[UPDATE], OPS[DELETE] = Op.INSERT, Op.UPDATE, Op.DELETE
BEFORE = np.zeros(256, np.int8)
BEFORE[KEY], BEFORE[OLD] = 1, 2


def batch(data: Messages, index: Ints, compiled: Compiled, lsn: Ints, seq: Ints) -> pa.RecordBatch:
    """Return the rows of these messages, in their order. Raises Malformed or IndexError."""
    starts, ends = data.starts[index], data.ends[index]
    kinds = data.bytes[starts]
    marks = data.bytes[starts + 5]
    _check_marks(kinds, marks, compiled)
    total = len(index)
    has_old = np.flatnonzero(marks != NEW)
    place = starts + 6
    old: list[Field] = []
    if len(has_old):
        old, after = walk(data, place[has_old], compiled.codecs, compiled.mark)
        place[has_old] = after
    has_new = np.flatnonzero(kinds != DELETE)
    updated = has_old[kinds[has_old] == UPDATE]
    if len(updated):
        if not (data.bytes[place[updated]] == NEW).all():
            raise Malformed("an update has no new row")
        place[updated] += 1
    everything = len(has_new) == total
    new, after = walk(data, place if everything else place[has_new], compiled.codecs, compiled.mark)
    place[has_new] = after
    if not (place == ends).all():
        raise Malformed("a row does not end where its message ends")
    new = _filled(new, old, has_new, has_old) if compiled.is_full and len(has_old) else new
    return _assemble(data, compiled, (kinds, marks, lsn, seq), (new, has_new), (old, has_old))


def _check_marks(kinds: AnyArray, marks: AnyArray, compiled: Compiled) -> None:
    inserts_well = (marks[kinds == INSERT] == NEW).all()
    deletes_well = (marks[kinds == DELETE] != NEW).all()
    expected = OLD if compiled.is_full else KEY
    if not (inserts_well and deletes_well and ((marks == NEW) | (marks == expected)).all()):
        raise Malformed("a row's tuples don't match its operation")


def check_mark(kind: int, mark: int, expected: int) -> None:
    """Raise Malformed where the tuple that a row message begins with is none of its operation."""
    if mark != NEW if kind == INSERT else mark not in ((expected,) if kind == DELETE else (NEW, expected)):
        raise Malformed("a row's tuples don't match its operation")


def _filled(new: list[Field], old: list[Field], has_new: Ints, has_old: Ints) -> list[Field]:
    """Return the new values with those that the log left out taken from the whole old row."""
    if not any(field.unchanged is not None for field in new):
        return new
    _, in_new, in_old = np.intersect1d(has_new, has_old, assume_unique=True, return_indices=True)
    filled = []
    for one, before in zip(new, old, strict=True):
        if before.unchanged is not None:
            raise Malformed("an old value is left out")
        picked = Field(
            before.start[in_old], before.lengths()[in_old], None if before.valid is None else before.valid[in_old]
        )
        filled.append(fill(one, picked, in_new))
    return filled


def _assemble(
    data: Messages,
    compiled: Compiled,
    facts: tuple[AnyArray, AnyArray, Ints, Ints],
    new: tuple[list[Field], Ints],
    old: tuple[list[Field], Ints],
) -> pa.RecordBatch:
    kinds, marks, lsn, seq = facts
    total, mark = len(kinds), compiled.mark
    fields, has_new = new
    unchanged = {}
    for number, field in enumerate(fields):
        if field.unchanged is not None:
            mask = np.zeros(total, np.bool_)
            mask[has_new] = field.unchanged
            unchanged[number] = mask
    columns = [
        primitive(lsn, pa.int64()),
        primitive(seq, pa.int64()),
        primitive(OPS[kinds], pa.int8()),
        primitive(BEFORE[marks], pa.int8()),
        absent_bitmaps(unchanged, len(fields), total),
    ]
    for field, codec in zip(fields, compiled.codecs, strict=True):
        columns.append(expand(column(data, field, codec, mark), has_new, total))
    before, has_old = old
    for number in compiled.old_columns:
        codec = compiled.codecs[number]
        if before:
            columns.append(expand(column(data, before[number], codec, mark), has_old, total))
        else:
            columns.append(pa.nulls(total, codec.arrow))
    return pa.RecordBatch.from_arrays(columns, schema=compiled.schema)
