"""This module does to batches of rows what row migration and declared transformations do to row LCRs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.streams.evaluation.row_batch import WHOLE, RowBatch
from airflow_ddlrepl.streams.messages import Command
from airflow_ddlrepl.streams.transformations.declared import (
    AddColumn,
    Declared,
    DeleteColumn,
    KeepColumns,
    RenameColumn,
    RenameSchema,
    RenameTable,
    ValueType,
    in_order,
)

ADDED_IDS = 1 << 20
"""The first id of columns that transformations add: far above those of any table's own."""
_SIDES = {ValueType.OLD: "b", ValueType.NEW: "a", ValueType.BOTH: "ab"}


def migrated_batch(batch: RowBatch, subset: Command) -> RowBatch:
    """Return a batch, all rows of which met one of a subset's three rules, with updates as that rule wants them."""
    is_update = batch.ops == Op.UPDATE
    if subset is Command.UPDATE or not is_update.any():
        return batch
    op = np.where(is_update, Op[subset.name], batch.ops).astype(np.int8)
    rows = _with(batch.rows, "op", pa.array(op))
    if subset is Command.DELETE:
        return replace(batch, rows=rows, absent={})
    for name, flags in batch.absent.items():
        if f"b_{name}" in rows.column_names:
            rows = _with(rows, f"a_{name}", pc.if_else(pa.array(flags), rows[f"b_{name}"], rows[f"a_{name}"]))
    before = np.where(is_update, 0, batch.befores).astype(np.int8)
    return replace(batch, rows=_with(rows, "before", pa.array(before)), absent=_still_absent(batch))


def _still_absent(batch: RowBatch) -> dict[str, Any]:
    """Return in which rows a column is absent that has an old value in no row, or not in all."""
    found = {}
    for name, flags in batch.absent.items():
        has_old = batch.befores >= batch.needed_before(name)
        left = flags & ~has_old if f"b_{name}" in batch.rows.column_names else flags
        if left.any():
            found[name] = left
    return found


def transformed_batch(batch: RowBatch, declared: Iterable[Declared]) -> RowBatch:
    """Return a batch as a rule's declared transformations leave it.

    Raises RuleError RUL-122 where a column would be there twice, RUL-127 where old rows lack columns.
    """
    for one in in_order(declared):
        batch = _CHANGES[type(one)](batch, one)
    return batch


def _kept(batch: RowBatch, what: KeepColumns) -> RowBatch:
    return _without(batch, what.table, what.value_type, lambda name: name not in what.columns)


def _deleted(batch: RowBatch, what: DeleteColumn) -> RowBatch:
    return _without(batch, what.table, what.value_type, lambda name: name == what.column)


def _without(batch: RowBatch, table: str, value_type: ValueType, goes: Callable[[str], bool]) -> RowBatch:
    if _name(batch) != table:
        return batch
    prefixes = tuple(f"{side}_" for side in _SIDES[value_type])
    gone = [name for name in batch.rows.column_names if name.startswith(prefixes) and goes(name[2:])]
    if not gone:
        return batch
    absent = {name: flags for name, flags in batch.absent.items() if f"a_{name}" not in gone}
    return replace(batch, rows=batch.rows.drop_columns(gone), absent=absent)


def _renamed_column(batch: RowBatch, what: RenameColumn) -> RowBatch:
    if _name(batch) != what.table or what.column == what.to:
        return batch
    names = list(batch.rows.column_names)
    for side in _SIDES[what.value_type]:
        if f"{side}_{what.column}" in names:
            if f"{side}_{what.to}" in names:
                raise _clash("rename_column", batch, what.to)
            names[names.index(f"{side}_{what.column}")] = f"{side}_{what.to}"
    moves = "a" in _SIDES[what.value_type]
    absent = {what.to if moves and name == what.column else name: flags for name, flags in batch.absent.items()}
    is_key = what.value_type is ValueType.BOTH and what.column in batch.key_columns
    keys = batch.key_columns - {what.column} | {what.to} if is_key else batch.key_columns
    kinds = {what.to if name == what.column else name: kind for name, kind in batch.kinds.items()}
    return replace(batch, rows=batch.rows.rename_columns(names), absent=absent, key_columns=keys, kinds=kinds)


def _added(batch: RowBatch, what: AddColumn) -> RowBatch:
    if _name(batch) != what.table:
        return batch
    rows = batch.rows
    for side in _SIDES[what.value_type]:
        if f"{side}_{what.column}" in rows.column_names:
            raise _clash("add_column", batch, what.column)
        if side == "b" and batch.least_before < WHOLE:
            raise RuleError(
                f"add_column: old rows of {_name(batch)} lack columns, and can't get {what.column}",
                code="RUL-127",
                hint="give the table REPLICA IDENTITY FULL, or add the column to the new values alone (NEW)",
            )
        rows = rows.append_column(f"{side}_{what.column}", _constant(what.value, len(batch)))
    return replace(batch, rows=rows)


def _constant(value: Any, rows: int) -> pa.Array:
    if value is None:
        return pa.nulls(rows, pa.string())
    if isinstance(value, Decimal) and value == value.to_integral_value() and abs(value) < 2**63:
        value = int(value)
    return pa.repeat(pa.scalar(value), rows)


def _renamed_table(batch: RowBatch, what: RenameTable) -> RowBatch:
    if _name(batch) != what.table:
        return batch
    owner, name = what.to.split(".", 1)
    return replace(batch, owner=owner, name=name)


def _renamed_schema(batch: RowBatch, what: RenameSchema) -> RowBatch:
    return replace(batch, owner=what.to) if batch.owner == what.schema else batch


def _name(batch: RowBatch) -> str:
    return f"{batch.owner}.{batch.name}"


def _with(rows: pa.Table, name: str, values: Any) -> pa.Table:
    return rows.set_column(rows.column_names.index(name), name, values)


def _clash(procedure: str, batch: RowBatch, column: str) -> RuleError:
    return RuleError(
        f"{procedure}: rows of {_name(batch)} have a column {column} already",
        code="RUL-122",
        table=_name(batch),
        hint="change or remove the transformation; the changes wait",
    )


_CHANGES: dict[type[Declared], Callable[[RowBatch, Any], RowBatch]] = {
    KeepColumns: _kept,
    DeleteColumn: _deleted,
    RenameColumn: _renamed_column,
    AddColumn: _added,
    RenameTable: _renamed_table,
    RenameSchema: _renamed_schema,
}
