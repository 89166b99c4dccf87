"""This module writes the rows of a window into a part of a segment, as the log capture does in text format.

A layout has the columns that the LCRs have after their transformations. Rows of one table whose LCRs have different
columns go into different files; each row says by its transaction's position and its ordinal where it belongs.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice

import pyarrow as pa

from airflow_ddlrepl.engines.abilities.sync_capture import CapturedWindow
from airflow_ddlrepl.engines.postgres.sync_capture.transformation_sql import BOOLEAN, NUMERIC, TEXT
from airflow_ddlrepl.engines.postgres.sync_capture.window import CapturedRow, Windows
from airflow_ddlrepl.model.change import Event, EventKind, Op
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Column, Identity
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.ports.row_layout import ColumnLayout, Layout
from airflow_ddlrepl.streams.evaluation.row_batch import WHOLE
from airflow_ddlrepl.streams.rules.written_messages import PREFIX
from airflow_ddlrepl.streams.transformations.row_batches import ADDED_IDS
from airflow_ddlrepl.trail.manifest import Part
from airflow_ddlrepl.trail.transaction_columns import TRANSACTIONS
from airflow_ddlrepl.trail.writer import PartWriter

_CHUNK = 5000
_NONE: frozenset[str] = frozenset()
_MADE = {BOOLEAN: column_type("boolean"), NUMERIC: column_type("numeric"), TEXT: column_type("text")}
"""The types of columns that transformations make, by their numbers."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """A captured row with its place in the feed."""

    row: CapturedRow
    lsn: int
    seq: int


def write_rows(windows: Windows, window: CapturedWindow, writer: PartWriter) -> Part:
    """Write the rows of the open window with its transactions and messages, and return the part."""
    transactions, files = _Transactions(window.low), _Files(windows)
    placed = map(transactions.place, windows.rows())
    size = 0
    while chunk := list(islice(placed, _CHUNK)):
        size += sum(one.row.size for one in chunk)
        for layout, batch in files.batches(one for one in chunk if one.row.kind == "row"):
            writer.rows(layout, batch)
        for one in chunk:
            if one.row.kind != "row":
                writer.event(_event(one))
        if (ended := transactions.take()) is not None:
            writer.transactions(ended)
    transactions.end()
    if (ended := transactions.take()) is not None:
        writer.transactions(ended)
    return writer.finish(window.low, window.high, size)


class _Transactions:
    """This counts transactions, and the changes in each, as their rows pass."""

    def __init__(self, low: int) -> None:
        self._lsn = low
        self._last: CapturedRow | None = None
        self._seq = 0
        self._changes = 0
        self._ended: list[tuple[int, int, int, str, int]] = []

    def place(self, row: CapturedRow) -> _Placed:
        """Return a row with its place; it comes behind all earlier ones."""
        if self._last is None or self._last.xid != row.xid:
            self.end()
            self._lsn += 1
            self._seq = self._changes = 0
        found = _Placed(row, self._lsn, self._seq)
        self._last = row
        self._seq += 1
        self._changes += row.kind == "row"
        return found

    def end(self) -> None:
        """End the transaction of the last row."""
        if (row := self._last) is not None:
            self._ended.append((self._lsn, row.xid, row.committed, row.tag or "", self._changes))
            self._last = None

    def take(self) -> pa.RecordBatch | None:
        """Return the transactions that have ended since the last call; None where there are none."""
        ended, self._ended = self._ended, []
        columns = [list(values) for values in zip(*ended, strict=True)]
        arrays = [pa.array(values, of.type) for values, of in zip(columns, TRANSACTIONS, strict=True)] if ended else []
        return pa.RecordBatch.from_arrays(arrays, schema=TRANSACTIONS) if ended else None


def _event(one: _Placed) -> Event:
    """Return the control record of a message, or of a TRUNCATE that was not captured."""
    row = one.row
    place = (LogKey(one.lsn, one.seq), row.xid, row.committed, row.tag or "")
    if row.kind == "message":
        payload = base64.b64encode((row.payload or "").encode()).decode()
        return Event(EventKind.MESSAGE, *place, prefix=PREFIX, payload=payload)
    name = TableName(row.schema or "", row.table or "")
    return Event(EventKind.NO_TRUNCATE, *place, tag="TRUNCATE TABLE", dropped=((row.table_id or 0, name),))


@dataclass(slots=True)
class _Group:
    """A group is rows of one table whose old rows have the same columns, and whose new rows have.

    old, new: these columns; None: no row has shown them yet. layout: of the file, once there is one.
    """

    variant: int
    old: frozenset[str] | None = None
    new: frozenset[str] | None = None
    layout: Layout | None = None
    rows: list[_Placed] = field(default_factory=list)

    def takes(self, old: frozenset[str] | None, new: frozenset[str] | None) -> bool:
        """Return whether a row with these columns can be in the group."""
        return (old is None or self.old in (None, old)) and (new is None or self.new in (None, new))

    def add(self, one: _Placed, old: frozenset[str] | None, new: frozenset[str] | None) -> None:
        """Add a row."""
        self.rows.append(one)
        self.old = self.old if old is None else old
        self.new = self.new if new is None else new

    def taken(self) -> list[_Placed]:
        """Return the rows, and begin again. What no row has shown is as in the other rows from now on."""
        if self.new is None or self.old is None:
            self.new = self.old = self.new if self.old is None else self.old
        rows, self.rows = self.rows, []
        return rows


class _Files:
    """These are the files of a window: one for the rows of one table that have the same columns."""

    def __init__(self, windows: Windows) -> None:
        self._shape = lru_cache(64)(windows.shape)
        self._groups: dict[tuple[object, ...], list[_Group]] = {}
        self._variants: Counter[int] = Counter()

    def batches(self, rows: Iterable[_Placed]) -> Iterator[tuple[Layout, pa.RecordBatch]]:
        """Yield rows in batches that share a layout."""
        touched: dict[int, _Group] = {}
        for one in rows:
            group = self._group(one)
            touched[id(group)] = group
        for group in touched.values():
            placed = group.taken()
            if group.layout is None:
                group.layout = self._layout(placed[0].row, group)
            yield group.layout, _batch(group, group.layout, placed)

    def _group(self, one: _Placed) -> _Group:
        row = one.row
        old = None if row.command == "INSERT" else frozenset(row.old or {})
        new = None if row.command == "DELETE" else frozenset(row.new or {})
        made = json.dumps(row.renamed, sort_keys=True)
        groups = self._groups.setdefault((row.table_id, row.schema, row.table, row.shape_id, made), [])
        group = next((group for group in groups if group.takes(old, new)), None)
        if group is None:
            groups.append(group := _Group(self._variants[row.table_id or 0]))
            self._variants[row.table_id or 0] += 1
        group.add(one, old, new)
        return group

    def _layout(self, row: CapturedRow, group: _Group) -> Layout:
        """Return the layout of a group's file, with the shape that the table has after the transformations."""
        assert row.shape_id is not None
        table = self._shape(row.shape_id)
        known = {column.name: column for column in table.columns}
        for number, (made, before) in enumerate(sorted((row.renamed or {}).items())):
            column = Column(ADDED_IDS + number, made, _MADE[before]) if isinstance(before, int) else known[before]
            known[made] = replace(column, name=made)
        columns = sorted((known[one] for one in (group.new or _NONE) | (group.old or _NONE)), key=lambda one: one.id)
        shape = table.with_keys_of({column.id for column in columns})
        keys = {column for key in shape.keys[:1] for column in key.columns}
        name = TableName(row.schema or "", row.table or "")
        layouts = tuple(
            ColumnLayout(one.name, one.type.id, one.type.modifier, one.id in keys, "text") for one in columns
        )
        shape = shape.with_(id=row.table_id or 0, name=name, columns=tuple(columns), partition=None)
        return Layout(shape.id, name.schema, name.name, Identity.FULL, layouts, shape, group.variant)


def _batch(group: _Group, layout: Layout, placed: Sequence[_Placed]) -> pa.RecordBatch:
    rows = [one.row for one in placed]
    columns: dict[str, pa.Array] = {
        "lsn": pa.array([one.lsn for one in placed], pa.int64()),
        "seq": pa.array([one.seq for one in placed], pa.int64()),
        "op": pa.array([Op[one.command or ""] for one in rows], pa.int8()),
        "before": pa.array([0 if one.command == "INSERT" else WHOLE for one in rows], pa.int8()),
        "absent": pa.nulls(len(rows), pa.binary()),
    }
    names = [one.name for one in layout.columns]
    for name in names:
        if name in (group.new or _NONE):
            columns[f"a_{name}"] = pa.array([(one.new or {}).get(name) for one in rows], pa.string())
    for name in names:
        if name in (group.old or _NONE):
            columns[f"b_{name}"] = pa.array([(one.old or {}).get(name) for one in rows], pa.string())
    return pa.RecordBatch.from_arrays([*columns.values()], names=[*columns])
