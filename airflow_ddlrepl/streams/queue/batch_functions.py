"""This module calls custom functions that take batches of rows: typed values in, exact texts kept where they stay.

What a function leaves as it is keeps the text that the server gave; only changed values are written anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.integrate.netting.presence import absent_columns
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.ports.row_layout import ColumnLayout
from airflow_ddlrepl.streams.queue.custom_functions import CustomFunctions, refused
from airflow_ddlrepl.streams.queue.lcr_batch import HEAD, Flags, LcrBatch, absent_bitmap, free_id
from airflow_ddlrepl.streams.rules.rule import ActionContext

_OPS = {Op.INSERT: "INSERT", Op.UPDATE: "UPDATE", Op.DELETE: "DELETE"}


def batch_called(
    functions: CustomFunctions, action: ActionContext, batch: LcrBatch, values: ChangeValues
) -> LcrBatch | None:
    """Return a batch as a rule's function leaves it; None: nothing is left.

    Raises RuleError RUL-131 for values whose text is not known, RUL-136 and RUL-137 for what the function does.
    """
    of = f"a batch of rows of {batch.layout.schema}.{batch.layout.name}"
    typed = batch.typed(values).rows.combine_chunks()
    ops = pa.array([_OPS[Op(op)] for op in typed["op"].to_pylist()], pa.string())
    names = [name for name in typed.column_names if name not in HEAD]
    given = pa.record_batch([ops, *(_whole(typed[name]) for name in names)], names=["op", *names])
    result, stays = _read(functions.called_with_batch(action.function, given, of), action, of)
    got = given.num_rows
    if stays is not None:
        if len(stays) != len(batch) or stays.null_count:
            raise refused(action.function, of, "a list of rows that stay of another length, or with NULL")
        batch = replace(batch, rows=batch.rows.filter(stays))
        given = given.filter(stays)
    if result.num_rows != len(batch) or "op" not in result.schema.names or not result["op"].equals(given["op"]):
        raise refused(action.function, of, "other rows or kinds of changes than it got", "return them in their order")
    functions.counts.add(action.function, got, _unchanged(given, result))
    return _Result(action.function, of, batch, values).batch(given, result) if len(batch) else None


def _unchanged(rows: pa.RecordBatch, result: pa.RecordBatch) -> int:
    """Return how many rows a function has left as they were. result: as many rows in the same order."""
    if set(rows.schema.names) != set(result.schema.names):
        return 0
    same = np.ones(rows.num_rows, np.bool_)
    for name in rows.schema.names:
        before, after = rows[name], result[name]
        if not before.equals(after):
            try:
                same &= np.asarray(_equal_values(before, after))
            except pa.ArrowException:  # of another kind
                return 0
    return int(same.sum())


def _equal_values(before: pa.Array, after: pa.Array) -> pa.Array:
    """Return which values of a column are what they were. Raises ArrowException where the types can't be compared."""
    stays = pc.fill_null(pc.equal(after, before), False)
    stays = pc.or_(stays, pc.and_(pc.is_null(after), pc.is_null(before)))
    if pa.types.is_floating(after.type):
        stays = pc.or_(stays, pc.fill_null(pc.and_(pc.is_nan(after), pc.is_nan(before)), False))
    return stays


def _read(found: Any, action: ActionContext, of: str) -> tuple[pa.RecordBatch, pa.Array | None]:
    stays = None
    if isinstance(found, tuple) and len(found) == 2 and action.is_array_function:
        found, stays = found
        stays = stays.combine_chunks() if isinstance(stays, pa.ChunkedArray) else stays
    is_batch = isinstance(found, pa.RecordBatch) and (
        stays is None or (isinstance(stays, pa.Array) and pa.types.is_boolean(stays.type))
    )
    if not is_batch:
        raise refused(action.function, of, f"a {type(found).__name__}", "return a pyarrow.RecordBatch")
    return found, stays


class _Result:
    """A result of a function becomes a batch of a queue: column by column, new texts where values have changed."""

    def __init__(self, function: str, of: str, batch: LcrBatch, values: ChangeValues) -> None:
        self._function, self._of = function, of
        self._batch = batch
        self._values = values
        self._known = {layout.name: (layout, column) for layout, column in batch.columns()}
        self._columns: list[tuple[ColumnLayout, Column]] = []
        self._data: dict[str, pa.Array] = {}

    def batch(self, argument: pa.RecordBatch, result: pa.RecordBatch) -> LcrBatch:
        strange = [name for name in result.schema.names if name != "op" and not name.startswith(("a_", "b_"))]
        if strange:
            raise refused(self._function, self._of, f"a column {strange[0]}", "columns are a_NAME, b_NAME and op")
        names = list(dict.fromkeys(name[2:] for name in result.schema.names if name != "op"))
        for name in names:
            self._add(name, argument, result)
        rows, layout = self._batch.rows, self._batch.layout
        absent = self._absent(names)
        data = {name: rows[name] for name in HEAD} | {"absent": absent_bitmap(absent, names, len(rows))}
        shape = self._batch.shape.with_keys_of({column.id for _, column in self._columns})
        shape = shape.with_(columns=tuple(column for _, column in self._columns))
        columns = tuple(one for one, _ in self._columns)
        order = [f"{side}_{name}" for side in "ab" for name in names if f"{side}_{name}" in self._data]
        return LcrBatch(
            replace(layout, columns=columns, shape=shape, is_transformed=True),
            pa.table({**data, **{name: self._data[name] for name in order}}),
        )

    def _add(self, name: str, rows: pa.RecordBatch, result: pa.RecordBatch) -> None:
        sides = [f"{side}_{name}" for side in "ab" if f"{side}_{name}" in result.schema.names]
        known = self._known.get(name)
        if known is None:
            column = self._new(name, result[sides[0]].type)
            self._columns.append((ColumnLayout(name, column.type.id, -1, False, "text"), column))
            self._data |= {side: self._as_text(result[side], side) for side in sides}
            return
        raw = {side: _whole(self._batch.rows[side]) for side in sides if side in self._batch.rows.column_names}
        if all(side in raw and result[side].equals(rows[side]) for side in sides):
            self._columns.append(known)
            self._data |= raw
            return
        layout, column = known
        if layout.encoding == "native" and all(side in raw and result[side].type == raw[side].type for side in sides):
            self._columns.append(known)
            self._data |= {side: result[side] for side in sides}
            return
        self._columns.append((replace(layout, encoding="text"), column))
        for side in sides:
            self._data[side] = self._changed(side, raw.get(side), rows, result)

    def _changed(self, side: str, raw: pa.Array | None, rows: pa.RecordBatch, result: pa.RecordBatch) -> pa.Array:
        new = result[side]
        if raw is None or new.type != rows[side].type:
            return self._as_text(new, side)
        before = self._batch.shown(self._values, raw, self._known[side[2:]], pa.string())
        return pc.if_else(_equal_values(rows[side], new), before, self._as_text(new, side))

    def _as_text(self, values: pa.Array, name: str) -> pa.Array:
        """Return values as texts that a server reads. Raises RuleError RUL-136."""
        of = values.type
        if pa.types.is_null(of):
            return values.cast(pa.string())
        if pa.types.is_binary(of) or pa.types.is_large_binary(of):
            return pa.array([None if one is None else "\\x" + one.hex() for one in values.to_pylist()], pa.string())
        if pa.types.is_nested(of) or pa.types.is_duration(of):
            raise refused(self._function, self._of, f"{name} of type {of}", "give other values as text")
        return values.cast(pa.string())

    def _new(self, name: str, of: pa.DataType) -> Column:
        texts = {
            "boolean": pa.types.is_boolean, "bigint": pa.types.is_integer, "double precision": pa.types.is_floating,
            "numeric": pa.types.is_decimal, "date": pa.types.is_date, "bytea": pa.types.is_binary,
            "timestamp without time zone": pa.types.is_timestamp,
        }  # fmt: skip
        kind = next((text for text, is_one in texts.items() if is_one(of)), "text")
        taken = (column for _, column in (*self._known.values(), *self._columns))
        return Column(free_id(taken), name, column_type(kind))

    def _absent(self, names: list[str]) -> dict[str, Flags]:
        """Return in which rows columns have no new value: the log had none, and the function gave none."""
        log = absent_columns(self._batch.rows["absent"], [one.name for one in self._batch.layout.columns])
        found = {}
        for name in names:
            if name in log and f"a_{name}" in self._data:
                flags = log[name] & np.asarray(self._data[f"a_{name}"].is_null())
                if flags.any():
                    found[name] = flags
        return found


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    found = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found
