"""This module makes statements that apply many row changes of a table at once: sets of rows, each about one kind.

Every statement has to change as many rows as it was sent: the same rows that single statements would change, found by
the primary key of the target's table, or by all their values. Values are parameters: an array of texts for each column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.abilities.lcr_target import NotTogether
from airflow_ddlrepl.engines.postgres.apply_lcrs.pipelines import pipelined
from airflow_ddlrepl.engines.postgres.apply_lcrs.row_waves import waves
from airflow_ddlrepl.engines.postgres.apply_lcrs.table_layout import TableLayout, TargetColumn
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import CONTENTION, passing
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.postgres.merge.inline_rows import BinaryArray, taking
from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import BUILTIN, TEXT_OID
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.streams.evaluation.row_batch import WHOLE, Flags, RowBatch
from airflow_ddlrepl.streams.messages import MessageClass

_IN_ORDER = (Op.DELETE, Op.UPDATE, Op.INSERT)
"""In this order the changes of a wave are made: a unique value is free before another row gets it."""
_PLANNER = """
SELECT set_config('enable_hashjoin', '{0}', true), set_config('enable_mergejoin', '{0}', true),
    set_config('enable_seqscan', '{0}', true)
"""
BY_KEY = _PLANNER.format("off").encode()
"""Rows are found by their keys: without this a server may read a whole table for some thousand of its rows."""
BY_ALL_VALUES = _PLANNER.format("on").encode()
"""Rows of a table without a key are found by a look at all of it."""
Places = np.ndarray[tuple[int], np.dtype[np.int64]]


class RowSet(NamedTuple):
    """A row set is a statement with `$1` and so on for its parameters, and how many rows it has to be about.

    looks_at_all: whether it finds them by a look at the whole table.
    """

    text: str
    parameters: Sequence[BinaryArray]
    rows: int
    looks_at_all: bool = False


def row_sets(batch: RowBatch, layout: TableLayout, message_class: MessageClass) -> Iterator[RowSet]:
    """Yield the statements that apply a batch whose values are texts, in their order.

    Rows of a table without a key, here and at the source, are found by all their old values: one that has them.
    Raises NotTogether where its rows can't be applied so: with the table's name where none of them ever can.
    """
    return _Sets(batch, layout, is_captured=message_class is MessageClass.CAPTURED).statements()


def require_apart(batches: Sequence[RowBatch]) -> None:
    """Raise NotTogether where rows of two batches of one table at the target come in turns."""
    last: dict[tuple[str, str], tuple[int, int]] = {}
    for one in batches:
        keys = one.rows.select(["lsn", "seq"])
        first, end = ((keys["lsn"][at].as_py(), keys["seq"][at].as_py()) for at in (0, -1))
        if first <= last.get((one.owner, one.name), first[:0]):
            raise NotTogether
        last[one.owner, one.name] = end


def row_keys(
    batch: RowBatch, layout: TableLayout, message_class: MessageClass
) -> tuple[Sequence[pa.Array], Sequence[pa.Array]]:
    """Return the values of the target's key by which rows are found, and those that they have then, by column.

    Raises NotTogether where a row lacks one of them.
    """
    return _Sets(batch, layout, is_captured=message_class is MessageClass.CAPTURED).keys()


def send_sets(connection: Connection[Any], sets: Iterable[RowSet]) -> None:
    """Run statements as they come, without waiting for each. Raises NotTogether, or the driver's error about a lock."""
    import psycopg

    counts = []
    try:
        connection.execute(BY_KEY)
        with pipelined(connection):
            for text, parameters, rows, looks_at_all in sets:
                if looks_at_all:
                    connection.execute(BY_ALL_VALUES)
                sent = taking(connection).execute(text.encode(), parameters, prepare=False)
                counts.append((sent, rows))
                if looks_at_all:
                    connection.execute(BY_KEY)
    except psycopg.Error as error:
        if error.sqlstate in CONTENTION or passing(error, "the target") is not None:
            raise
        raise NotTogether from error
    if any(one.rowcount != rows for one, rows in counts):
        raise NotTogether


@dataclass
class _Sets:
    """These are the sets of a batch's rows."""

    batch: RowBatch
    layout: TableLayout
    is_captured: bool
    _texts: dict[str, pa.Array] = field(default_factory=dict)

    @property
    def name(self) -> TableName:
        return TableName(self.batch.owner, self.batch.name)

    def statements(self) -> Iterator[RowSet]:
        layout, batch = self.layout, self.batch
        columns = [layout.columns.get(one) for one in batch.columns]
        if not layout.is_silent or any(one is None or not one.reads_text for one in columns):
            raise NotTogether((self.name,))
        before, after = self.keys() if layout.key else self._rows()
        kinds = self._kinds()
        turn = np.array([_IN_ORDER.index(Op(one)) for one in range(len(_IN_ORDER))])[batch.ops]
        wave = waves(before, after) if before else np.zeros(len(batch), np.int64)
        sets = (wave * len(_IN_ORDER) + turn) * (int(kinds.max(initial=0)) + 1) + kinds
        order = np.argsort(sets, kind="stable")
        cuts = np.flatnonzero(np.diff(sets[order])) + 1
        for places in np.split(order, cuts):
            yield self._statement(Op(int(batch.ops[places[0]])), places, before)

    def _statement(self, op: Op, places: Places, before: Sequence[pa.Array]) -> RowSet:
        if op is Op.INSERT:
            return self._insert(places)
        columns = self._updated(places) if op is Op.UPDATE else []
        keys = [(self.layout.columns[name], values) for name, values in zip(self._found_by, before, strict=True)]
        table = f"{qualified(self.name)} t"

        def text(sent: str, values: Sequence[str]) -> str:
            rows, same = self._found(sent, len(columns))
            if op is Op.DELETE:
                return f"DELETE FROM {table} USING {rows} WHERE {same}"
            if not columns:  # the rows have to be there all the same
                return f"SELECT FROM {table}, {rows} WHERE {same} FOR UPDATE OF t"
            sets = ", ".join(f"{quote(one.name)} = {value}" for one, value in zip(columns, values, strict=False))
            return f"UPDATE {table} SET {sets} FROM {rows} WHERE {same}"

        made = _set(places, [*((one, self._of("a", one.name)) for one in columns), *keys], text)
        return made._replace(looks_at_all=not self.layout.key)

    @property
    def _found_by(self) -> Sequence[str]:
        """Return the columns by which a row is found: the key, or all that the source has old values of."""
        if self.layout.key:
            return self.layout.key
        known = [name for name in self.batch.columns if f"b_{name}" in self.batch.rows.column_names]
        return [name for name in known if not self.layout.columns[name].is_generated]

    def _found(self, sent: str, behind: int) -> tuple[str, str]:
        """Return a table expression `r` of what is sent, and the condition that finds a row `t` of each.

        behind: so many columns stand before those by which it is found.
        """
        columns = [self.layout.columns[name] for name in self._found_by]
        if self.layout.key:
            parts = (f"t.{quote(one.name)} {one.equals} {_value(one, behind + at)}" for at, one in enumerate(columns))
            return sent, " AND ".join(parts)
        wanted = ", ".join(f"r.v{behind + at}::{one.stored_type}" for at, one in enumerate(columns))
        there = ", ".join(f"o.{quote(one.name)}" for one in columns)
        rows = (
            f"(SELECT DISTINCT ON (i.n) o.part, o.place, i.* FROM (SELECT r.*, ROW({wanted}) AS image FROM {sent}) i"
            f" JOIN (SELECT o.tableoid AS part, o.ctid AS place, ROW({there}) AS image FROM {qualified(self.name)} o) o"
            " ON o.image OPERATOR(pg_catalog.*=) i.image) r"
        )
        return rows, "t.tableoid = r.part AND t.ctid = r.place"

    def _insert(self, places: Places) -> RowSet:
        present = [one for one in self._with_values(places) if not one.is_generated]
        if not present:
            raise NotTogether
        names = ", ".join(quote(one.name) for one in present)
        override = " OVERRIDING SYSTEM VALUE" if any(one.is_identity for one in present) else ""
        into = f"INSERT INTO {qualified(self.name)} ({names}){override}"
        columns = [(one, self._of("a", one.name)) for one in present]
        return _set(places, columns, lambda rows, values: f"{into} SELECT {', '.join(values)} FROM {rows}")

    def _updated(self, places: Places) -> list[TargetColumn]:
        """Return the columns that updates set. Raises NotTogether where one changes an identity."""
        found = []
        for one in self._with_values(places):
            if one.is_identity:
                self._require_same(one, places)
            elif not one.is_generated:
                found.append(one)
        return found

    def _require_same(self, column: TargetColumn, places: Places) -> None:
        taken = pa.array(places)
        new = self._of("a", column.name).take(taken)
        old = self._of("b", column.name).take(taken) if f"b_{column.name}" in self.batch.rows.column_names else new
        has_old = self.batch.befores[places] >= self.batch.needed_before(column.name)
        same = np.asarray(pc.fill_null(pc.equal(new, old), False))
        if not (same | ~has_old).all():
            raise NotTogether

    def _with_values(self, places: Places) -> list[TargetColumn]:
        """Return the columns that have new values in some rows, of which all have the same ones."""
        absent = self.batch.absent
        names = [name for name in self.batch.columns if f"a_{name}" in self.batch.rows.column_names]
        return [self.layout.columns[name] for name in names if not (name in absent and absent[name][places[0]])]

    def _kinds(self) -> Places:
        """Return a number for each row: equal ones where the same columns have new values."""
        found = np.zeros(len(self.batch), np.int64)
        for flags in self.batch.absent.values():
            found = np.unique(found * 2 + flags, return_inverse=True)[1]
        return found

    def keys(self) -> tuple[list[pa.Array], list[pa.Array]]:
        """Return what `row_keys` does. Raises NotTogether."""
        batch = self.batch
        is_insert, is_delete = batch.ops == Op.INSERT, batch.ops == Op.DELETE
        before, after = [], []
        for name in self.layout.key:
            has_new = ~is_delete & ~batch.absent.get(name, np.zeros(len(batch), np.bool_))
            has_old = ~is_insert & (batch.befores >= batch.needed_before(name))
            new, has_new = self._known("a", name, has_new)
            old, has_old = self._known("b", name, has_old)
            by_new = has_new & (is_insert | (~is_delete & ~has_old) if self.is_captured else is_insert)
            if not (has_old | by_new).all():
                raise NotTogether
            found = pc.if_else(pa.array(by_new), new, old)
            if found.null_count:
                raise NotTogether
            before.append(found)
            after.append(pc.if_else(pa.array(has_new), new, found))
        return before, after

    def _rows(self) -> tuple[list[pa.Array], list[pa.Array]]:
        """Return all values of each row before its change, and after it, by column; none where there are inserts alone.

        Raises NotTogether where a row lacks one of them, or has a key at the source.
        """
        batch = self.batch
        is_insert, is_delete = batch.ops == Op.INSERT, batch.ops == Op.DELETE
        if is_insert.all():
            return [], []
        if batch.has_key or not (is_insert | (batch.befores >= WHOLE)).all():
            raise NotTogether((self.name,))
        before, after = [], []
        for name in self._found_by:
            has_new = ~is_delete & ~batch.absent.get(name, np.zeros(len(batch), np.bool_))
            new, has_new = self._known("a", name, has_new)
            before.append(pc.if_else(pa.array(is_insert), new, self._of("b", name)))
            after.append(pc.if_else(pa.array(has_new), new, self._of("b", name)))
        return before, after

    def _known(self, side: str, name: str, flags: Flags) -> tuple[pa.Array, Flags]:
        """Return the texts of a column, and in which rows it has one; it may have none at all."""
        if f"{side}_{name}" in self.batch.rows.column_names:
            return self._of(side, name), flags
        return pa.nulls(len(self.batch), pa.string()), np.zeros(len(self.batch), np.bool_)

    def _of(self, side: str, name: str) -> pa.Array:
        key = f"{side}_{name}"
        if key not in self._texts:
            found = self.batch.rows[key].combine_chunks()
            found = pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found
            self._texts[key] = found if pa.types.is_string(found.type) else found.cast(pa.string())
        return self._texts[key]


def _set(
    places: Places,
    columns: Sequence[tuple[TargetColumn, pa.Array]],
    text: Callable[[str, Sequence[str]], str],
) -> RowSet:
    """Return the statement for some rows. columns: with the values of all rows. text: made of the rows and values."""
    arrays = ", ".join(f"${number + 1}::text[]" for number in range(len(columns)))
    rows = f"unnest({arrays}) WITH ORDINALITY AS r({', '.join(f'v{number}' for number in range(len(columns)))}, n)"
    values = [_value(one, number) for number, (one, _) in enumerate(columns)]
    taken = pa.array(places)
    return RowSet(text(rows, values), [text_array(data.take(taken)) for _, data in columns], len(places))


def _value(column: TargetColumn, number: int) -> str:
    return f"r.v{number}::{column.type}"


def text_array(values: pa.Array) -> BinaryArray:
    """Return texts as a server takes an array of them: each after its length, a NULL as a length alone."""
    count = len(values)
    head = np.array([1, int(values.null_count > 0), TEXT_OID, count, 1], ">i4").tobytes()
    lengths = pc.fill_null(pc.binary_length(values), -1).to_numpy(zero_copy_only=False).astype(">i4")
    ends = np.arange(count + 1, dtype=np.int32) * 4
    heads = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(lengths)])
    joined = pc.binary_join_element_wise(heads, pc.fill_null(values, "").cast(pa.binary()), b"")
    start, end = np.frombuffer(joined.buffers()[1], np.int32)[[joined.offset, joined.offset + count]]
    return BinaryArray(BUILTIN[TEXT_OID][0], head + joined.buffers()[2][int(start) : int(end)].to_pybytes())
