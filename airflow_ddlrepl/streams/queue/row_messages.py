"""This module changes rows of a batch into single row LCRs, and row LCRs into batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.ports.row_layout import ColumnLayout
from airflow_ddlrepl.streams.condition.moments import FarMoment
from airflow_ddlrepl.streams.evaluation.row_batch import WHOLE, RowBatch
from airflow_ddlrepl.streams.messages import MessageClass, RowLcr
from airflow_ddlrepl.streams.queue.exact_texts import exact_text, is_unchanged
from airflow_ddlrepl.streams.queue.lcr_batch import LcrBatch, absent_bitmap, free_id, type_of_value
from airflow_ddlrepl.streams.queue.transactions import TransactionFacts

STAMPS = ("get_scn", "get_commit_scn", "get_transaction_id", "get_source_time")


@dataclass(frozen=True, slots=True)
class QueuedRow:
    """A queued row is a row LCR with the exact texts of its values. seq: in its transaction; typed: the typed LCR."""

    lsn: int
    seq: int
    texts: RowLcr
    typed: RowLcr


def queued_rows(
    batch: LcrBatch,
    facts: TransactionFacts,
    database: str,
    values: ChangeValues,
    message_class: MessageClass = MessageClass.CAPTURED,
    *,
    is_typed: bool = True,
) -> Iterator[QueuedRow]:
    """Yield the rows of a batch one by one, in log order. Raises RuleError RUL-130 and RUL-131.

    is_typed: are typed values needed, too? Else `typed` has the texts. A value that its type does not hold, such as
    infinity of a date, is a text, which conditions compare as a FarMoment.
    """
    typed, odd = None, list[tuple[str, str, list[Any]]]()
    if is_typed:
        typed = batch.typed(values)
        odd = list(_odd_values(batch, typed, values))
    rows = _rows(batch, facts, database, batch_of_texts(batch, values), typed, message_class)
    for place, row in enumerate(rows):
        lcr = row.typed
        for side, name, found in odd:
            if side == "a" and name in lcr.new:
                lcr = replace(lcr, new={**lcr.new, name: found[place]})
            elif side == "b" and name in lcr.old:
                lcr = replace(lcr, old={**lcr.old, name: found[place]})
        yield replace(row, typed=lcr) if odd else row


def _odd_values(batch: LcrBatch, typed: RowBatch, values: ChangeValues) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield the values of columns of which not all have the column's type, each typed where that can be."""
    for layout, column in batch.columns():
        shown = values.shown_type(column, batch.shape.types)
        for side in "ab":
            name = f"{side}_{column.name}"
            if name not in typed.rows.column_names or typed.rows.schema.field(name).type == shown:
                continue
            raw, found = batch.rows[name].combine_chunks(), list[Any]()
            for place, text in enumerate(typed.rows[name].to_pylist()):
                try:
                    found += batch.shown(values, raw.slice(place, 1), (layout, column), shown).to_pylist()
                except RuleError:
                    found.append(odd_value(text, shown, is_number=values.is_number(column, batch.shape.types)))
            yield side, column.name, found


def odd_value(text: str, of: pa.DataType, *, is_number: bool) -> Decimal | str:
    """Return a value that its column's type does not hold. of: the Arrow type of the others."""
    if is_number:
        return Decimal(text)
    return FarMoment(text) if pa.types.is_temporal(of) else text


def _rows(
    batch: LcrBatch,
    facts: TransactionFacts,
    database: str,
    with_text: LcrBatch,
    typed: RowBatch | None,
    message_class: MessageClass,
) -> Iterator[QueuedRow]:
    lsn, seq = (batch.rows[name].to_numpy() for name in ("lsn", "seq"))
    at = facts.places(lsn)

    def stamped(rows: RowBatch) -> RowBatch:
        attributes = facts.attributes(at, STAMPS)
        return replace(rows, tags=facts.tags(at), attributes=attributes, source_database=database)

    every = range(len(batch))
    of = [stamped(rows) for rows in (typed, with_text.plain()) if rows is not None]
    for found in zip(*(rows.messages(every, rows.columns, message_class) for rows in of), strict=True):
        (place, one), (_, text) = found[0], found[-1]
        yield QueuedRow(int(lsn[place]), int(seq[place]), text, one)


def batch_of_texts(batch: LcrBatch, values: ChangeValues) -> LcrBatch:
    """Return a batch with all values as texts. Raises RuleError RUL-131 for a type whose text is not known."""
    rows = batch.rows
    for layout, column in batch.columns():
        if layout.encoding == "text" and _is_text(rows, column.name):
            continue
        for side in "ab":
            name = f"{side}_{column.name}"
            if name in rows.column_names:
                shown = batch.shown(values, rows[name].combine_chunks(), (layout, column), pa.string())
                rows = rows.set_column(rows.column_names.index(name), name, shown)
    columns = tuple(replace(one, encoding="text") for one in batch.layout.columns)
    return LcrBatch(replace(batch.layout, columns=columns), rows)


def _is_text(rows: pa.Table, name: str) -> bool:
    return all(
        pa.types.is_string(rows.schema.field(f"{side}_{name}").type)
        for side in "ab"
        if f"{side}_{name}" in rows.column_names
    )


def batches_of(
    like: LcrBatch, rows: Sequence[tuple[QueuedRow, Sequence[RowLcr]]], values: ChangeValues
) -> list[LcrBatch]:
    """Return as batches what functions gave for rows of a batch, in its order; each result is numbered in its row.

    A value that is equal to what it was keeps its exact text. The seq of result i is seq + i. A column gets another
    type where it has values that its type does not have. Raises RuleError RUL-136 for a value that no column holds.
    """
    flat = [(row, number, lcr) for row, given in rows for number, lcr in enumerate(given)]
    found = []
    for variant, key in enumerate(dict.fromkeys(_key(lcr) for _, _, lcr in flat)):
        of_key = [one for one in flat if _key(one[2]) == key]
        found.append(_batch(like, of_key, variant, values))
    return found


def _key(lcr: RowLcr) -> tuple[Any, ...]:
    return lcr.owner, lcr.name


def _batch(
    like: LcrBatch, rows: Sequence[tuple[QueuedRow, int, RowLcr]], variant: int, values: ChangeValues
) -> LcrBatch:
    first = rows[0][2]
    names = list(dict.fromkeys(name for _, _, lcr in rows for image in (lcr.new, lcr.old) for name in image))
    keys = [one.name for one in like.layout.columns if one.is_key]
    data: dict[str, pa.Array] = {
        "lsn": pa.array([row.lsn for row, _, _ in rows], pa.int64()),
        "seq": pa.array([row.seq + number for row, number, _ in rows], pa.int64()),
        "op": pa.array([Op[lcr.command.name] for _, _, lcr in rows], pa.int8()),
        "before": pa.array([_before(lcr, names, keys) for _, _, lcr in rows], pa.int8()),
    }
    absent = {
        name: flags
        for name in names
        if (flags := np.array([lcr.command.name != "DELETE" and name not in lcr.new for _, _, lcr in rows])).any()
    }
    data["absent"] = absent_bitmap(absent, names, len(rows))
    for side, image in (("a", "new"), ("b", "old")):
        for name in names if side == "a" or any(lcr.old for _, _, lcr in rows) else ():
            texts = [_text(row, lcr, image, name) for row, _, lcr in rows]
            data[f"{side}_{name}"] = pa.array(texts, pa.string())
    columns = _columns(like, rows, names, values)
    layouts = {one.name: one for one in like.layout.columns}
    layout = tuple(_layout(layouts.get(column.name), column) for column in columns)
    shape = like.shape.with_keys_of({column.id for column in columns})
    shape = shape.with_(columns=tuple(columns), name=type(shape.name)(str(first.owner), str(first.name)))
    to = replace(
        like.layout,
        schema=str(first.owner),
        name=str(first.name),
        columns=layout,
        shape=shape,
        variant=like.layout.variant + variant,
        is_transformed=True,
    )
    return LcrBatch(to, pa.table(data))


def _columns(
    like: LcrBatch, rows: Sequence[tuple[QueuedRow, int, RowLcr]], names: Sequence[str], values: ChangeValues
) -> list[Column]:
    """Return the columns that the results have, each with a type that has all of its values."""
    known = {column.name: column for column in like.shape.columns}
    found: list[Column] = []
    for name in names:
        given = [
            value
            for row, _, lcr in rows
            for image in ("new", "old")
            if (value := getattr(lcr, image).get(name)) is not None
            and not is_unchanged(getattr(row.typed, image), name, value)
        ]
        column = known.get(name)
        if column is None:
            kind = type_of_value(next(iter(given), None))
            column = Column(free_id((*known.values(), *found)), name, kind)
        elif not _fit(values, column, like, given):
            column = replace(column, type=type_of_value(str(given[0]) if _is_mixed(given) else given[0]))
        found.append(column)
    return found


def _is_mixed(items: Sequence[Any]) -> bool:
    return len({type_of_value(value) for value in items}) > 1


def _fit(values: ChangeValues, column: Column, like: LcrBatch, items: Sequence[Any]) -> bool:
    """Return whether a column's type has these values; a text counts as the value that it is the text of."""
    shown = values.shown_type(column, like.shape.types)
    texts = [value for value in items if isinstance(value, str)]
    kinds = {type(value) for value in items} - {str}
    try:
        if values.is_number(column, like.shape.types):
            return kinds <= {int, Decimal, float} and all(Decimal(text) is not None for text in texts)
        if pa.types.is_timestamp(shown) or pa.types.is_date(shown):
            return kinds <= {date, datetime} and all(datetime.fromisoformat(text) is not None for text in texts)
    except (ValueError, ArithmeticError):
        return False
    if pa.types.is_boolean(shown):
        return kinds <= {bool} and {*texts} <= {"t", "f", "true", "false"}
    return True


def _layout(known: ColumnLayout | None, column: Column) -> ColumnLayout:
    if known is None or column.type.id not in (0, known.type_id):
        return ColumnLayout(column.name, column.type.id, -1, known is not None and known.is_key, "text")
    return replace(known, encoding="text")


def _before(lcr: RowLcr, names: Iterable[str], keys: Sequence[str]) -> int:
    """Return what a row LCR has of the old row: WHOLE where it has every column, 1 where it has the key."""
    if lcr.old and all(name in lcr.old for name in names):
        return WHOLE
    return 1 if keys and all(name in lcr.old for name in keys) else 0


def _text(row: QueuedRow, lcr: RowLcr, image: str, name: str) -> str | None:
    typed, texts = getattr(row.typed, image), getattr(row.texts, image)
    return exact_text(lcr, name, getattr(lcr, image).get(name), typed, texts)
