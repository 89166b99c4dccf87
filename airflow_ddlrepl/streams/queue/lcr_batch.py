"""This module defines a batch of row LCRs as a queue holds it: the trail's rows of one table, and the table's shape."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.errors import RuleError, ShapeUnknown
from airflow_ddlrepl.integrate.netting.presence import absent_columns
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.ports.change_values import ChangeValues, NotShown, python_values
from airflow_ddlrepl.ports.row_layout import ColumnLayout, Layout
from airflow_ddlrepl.streams.condition.kinds import Kind
from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch
from airflow_ddlrepl.streams.transformations.declared import (
    AddColumn,
    Declared,
    RenameColumn,
    RenameSchema,
    RenameTable,
    in_order,
)
from airflow_ddlrepl.streams.transformations.row_batches import ADDED_IDS

"""The code of the error that the shape of rows is not known."""
HEAD = ("lsn", "seq", "op", "before", "absent")
Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class LcrBatch:
    """A batch of row LCRs is changes of one table in log order, in the columns of the trail; its layout has the shape.

    rows: lsn, seq, op, before, absent, and for each column a_NAME (new values) and b_NAME (old values) where there are.
    """

    layout: Layout
    rows: pa.Table

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def shape(self) -> Table:
        """Return the table's shape. Raises ShapeUnknown RUL-130 where it is not known."""
        if self.layout.shape is None:
            raise ShapeUnknown(
                f"the shape that {self.layout.schema}.{self.layout.name} had is not known",
                code="RUL-130",
                table=f"{self.layout.schema}.{self.layout.name}",
                hint="`streams` needs the event triggers at the source: `ddlrepl activate` installs them",
            )
        return self.layout.shape

    def columns(self) -> Iterator[tuple[ColumnLayout, Column]]:
        """Yield the columns of the log with those of the shape. Raises ShapeUnknown RUL-130 for one it lacks."""
        known = {column.name: column for column in self.shape.columns}
        for one in self.layout.columns:
            if one.name not in known:
                raise ShapeUnknown(
                    f"the shape of {self.layout.schema}.{self.layout.name} has no column {one.name}, and its rows have",
                    code="RUL-130",
                    table=f"{self.layout.schema}.{self.layout.name}",
                    hint="`ddlrepl activate` reads the table's shape again; then run again",
                )
            yield one, known[one.name]

    def plain(self) -> RowBatch:
        """Return the rows with their values as they are in the queue."""
        names = [one.name for one in self.layout.columns]
        return RowBatch(
            self.layout.schema,
            self.layout.name,
            "",
            self.rows,
            absent_columns(self.rows["absent"], names),
            frozenset(one.name for one in self.layout.columns if one.is_key),
            has_key=self.layout.shape is None or self.layout.shape.key is not None,
        )

    def with_old_keys(self) -> LcrBatch:
        """Return the rows with the old key in updates that did not change it, of which the log has none.

        Their old key is their new one.
        """
        keys = [one.name for one in self.layout.columns if one.is_key]
        ops, before = (self.rows[name].to_numpy() for name in ("op", "before"))
        flags = (ops == Op.UPDATE) & (before == 0)
        if not keys or not flags.any():
            return self
        rows = self.rows.set_column(3, "before", pa.array(np.where(flags, 1, before).astype(np.int8)))
        for name in keys:
            old = rows[f"b_{name}"] if f"b_{name}" in rows.column_names else pa.nulls(len(rows), rows[f"a_{name}"].type)
            whole = pc.if_else(pa.array(flags), rows[f"a_{name}"], old)
            if f"b_{name}" in rows.column_names:
                rows = rows.set_column(rows.column_names.index(f"b_{name}"), f"b_{name}", whole)
            else:
                rows = rows.append_column(f"b_{name}", whole)
        return LcrBatch(self.layout, rows)

    def typed(self, values: ChangeValues, wanted: Collection[str] | None = None) -> RowBatch:
        """Return the rows with typed values of the wanted columns; None: of all.

        A column with a value that its type does not hold, such as infinity of a date, has texts. Raises RuleError
        RUL-131 where the text of a value is not known.
        """
        rows, kinds = self.rows, dict[str, Kind]()
        for layout, column in self.columns():
            if wanted is not None and column.name not in wanted:
                continue
            shown = values.shown_type(column, self.shape.types)
            names = [name for side in "ab" if (name := f"{side}_{column.name}") in rows.column_names]
            raw = {name: rows[name].combine_chunks() for name in names}
            try:
                found = {name: self._shown(values, one, (layout, column), shown) for name, one in raw.items()}
            except NotShown:
                kinds |= {column.name: Kind.MOMENT} if pa.types.is_temporal(shown) else {}
                shown = pa.string()
                found = {name: self.shown(values, one, (layout, column), shown) for name, one in raw.items()}
            if pa.types.is_string(shown) and values.is_number(column, self.shape.types):
                kinds[column.name] = Kind.NUMBER
            for name, one in found.items():
                rows = rows.set_column(rows.column_names.index(name), name, one)
        return replace(self.plain(), rows=rows, kinds=kinds)

    def shown(
        self, values: ChangeValues, raw: pa.Array, of: tuple[ColumnLayout, Column], as_type: pa.DataType
    ) -> pa.Array:
        """Return values of a column as values of a plain Arrow type. Raises RuleError RUL-131."""
        try:
            return self._shown(values, raw, of, as_type)
        except NotShown as error:
            raise RuleError(
                f"column {of[1].name} {error}: no condition can compare it",
                code="RUL-131",
                table=f"{self.layout.schema}.{self.layout.name}",
                hint="take the column out of the conditions",
            ) from None

    def _shown(
        self, values: ChangeValues, raw: pa.Array, of: tuple[ColumnLayout, Column], as_type: pa.DataType
    ) -> pa.Array:
        layout, column = of
        return python_values(values.shown(raw, layout.encoding, column, as_type, self.shape.types))


def kept_batch(batch: LcrBatch, rows: RowBatch, declared: Iterable[Declared]) -> LcrBatch:
    """Return what rules have left of a batch as a batch of a queue.

    rows: what is left, as `LcrBatch.plain` gave it and `transformed_groups` changed it. declared: the transformations.
    """
    found, ordered = _Columns(batch), in_order(declared)
    for one in ordered:
        found.follow(one)
    names = rows.columns
    columns = tuple(found.layouts[name] for name in names)
    shape = found.shape(names, rows.owner, rows.name)
    layout = replace(batch.layout, schema=rows.owner, name=rows.name, columns=columns, shape=shape)
    layout = replace(layout, is_transformed=layout.is_transformed or bool(ordered))
    table = rows.rows
    for name in found.added & set(names):
        for side in "ab":
            if f"{side}_{name}" in table.column_names:
                at = table.column_names.index(f"{side}_{name}")
                table = table.set_column(at, f"{side}_{name}", _as_text(table[f"{side}_{name}"]))
    bitmap = absent_bitmap(rows.absent, names, len(rows))
    table = table.set_column(table.column_names.index("absent"), "absent", bitmap)
    order = [*HEAD, *(f"{side}_{name}" for side in "ab" for name in names if f"{side}_{name}" in table.column_names)]
    return LcrBatch(layout, table.select(order))


class _Columns:
    """These columns are a batch's while its declared transformations are followed."""

    def __init__(self, batch: LcrBatch) -> None:
        self.owner, self.name = batch.layout.schema, batch.layout.name
        self.layouts = {one.name: one for one in batch.layout.columns}
        self.added: set[str] = set()
        self._table = batch.shape
        self._columns = {column.name: column for column in batch.shape.columns}

    def follow(self, one: Declared) -> None:
        called = f"{self.owner}.{self.name}"
        match one:
            case RenameColumn(table=table, column=column, to=to) if table == called and column in self.layouts:
                self.layouts.setdefault(to, replace(self.layouts[column], name=to))
                self._columns.setdefault(to, replace(self._columns[column], name=to))
            case AddColumn(table=table, column=column, value=value) if table == called:
                kind = type_of_value(value)
                self.layouts[column] = ColumnLayout(column, kind.id, -1, False, "text")
                self._columns[column] = Column(free_id(self._columns.values()), column, kind)
                self.added.add(column)
            case RenameTable(table=table, to=to) if table == called:
                self.owner, self.name = to.split(".", 1)
            case RenameSchema(schema=schema, to=to) if schema == self.owner:
                self.owner = to

    def shape(self, names: Collection[str], owner: str, name: str) -> Table:
        columns = tuple(self._columns[one] for one in names)
        shape = self._table.with_keys_of({column.id for column in columns})
        return shape.with_(columns=columns, name=type(shape.name)(owner, name))


def free_id(columns: Iterable[Column]) -> int:
    """Return the id of a column that is added to these."""
    return max((column.id + 1 for column in columns if column.id >= ADDED_IDS), default=ADDED_IDS)


def type_of_value(value: Any) -> DataType:
    """Return the type of a column that a transformation adds with this value."""
    match value:
        case bool():
            return column_type("boolean")
        case Decimal() | int() | float():
            return column_type("numeric")
        case datetime() | date():
            return column_type("timestamp without time zone")
        case bytes():
            return column_type("bytea")
    return column_type("text")


def value_text(value: Any) -> str | None:
    """Return a Python value as the text that a server reads it from; None: NULL. Raises ValueError for another type."""
    match value:
        case None | str():
            return value
        case bool():
            return "t" if value else "f"
        case Decimal() | int() | float():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return "\\x" + bytes(value).hex()
        case datetime():
            return value.isoformat(" ")
        case date():
            return value.isoformat()
    raise ValueError(f"{value!r} of type {type(value).__name__} is no value of a column")


def _as_text(values: pa.ChunkedArray) -> pa.Array:
    """Return the values of an added column, which are all equal, as texts."""
    if not len(values) or values.null_count == len(values):
        return pa.nulls(len(values), pa.string())
    return pa.repeat(pa.scalar(value_text(values[0].as_py()), pa.string()), len(values))


def absent_bitmap(absent: Mapping[str, Flags], names: Iterable[str], total: int) -> pa.Array:
    """Return for each row which of the columns have no new value: bit i % 8 of byte i // 8; NULL where all have one."""
    if not absent:
        return pa.nulls(total, pa.binary())
    flags = np.stack([absent.get(name, np.zeros(total, np.bool_)) for name in names], axis=1)
    packed = np.packbits(flags, axis=1, bitorder="little")
    bits = pa.Array.from_buffers(pa.binary(packed.shape[1]), total, [None, pa.py_buffer(packed.tobytes())])
    return pc.if_else(pa.array(flags.any(axis=1)), bits.cast(pa.binary()), pa.scalar(None, pa.binary()))
