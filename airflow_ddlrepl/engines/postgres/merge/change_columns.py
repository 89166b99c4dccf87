"""This module stages the columns of a target that take values of the changes themselves, such as the commit's time.

In the rows they are called `a_` and then a zero byte with the column's number: no column of a source has such a name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.connection.conditions import full
from airflow_ddlrepl.engines.postgres.merge.staging_tables import StagedColumn
from airflow_ddlrepl.errors import FileDamaged, RowsRefused
from airflow_ddlrepl.integrate.netting.presence import absent_columns
from airflow_ddlrepl.mapping.extra_columns import OF_CHANGE, value_of
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.target_columns import DELETED, DELETED_AT

if TYPE_CHECKING:
    from airflow_ddlrepl.integrate.netting.equality import Ints

EPOCH = 946_684_800_000_000
"""The server counts microseconds from 2000 on, the trail those from 1970 on."""
_OPERATIONS = {Op.INSERT: "insert", Op.UPDATE: "update", Op.DELETE: "delete"}
_OF_TRANSACTION = {"commit_time": "committed", "transaction": "xid"}


def change_columns(target: Table) -> tuple[StagedColumn, ...]:
    """Return the columns of a target's table that every change sets to a value of its own."""
    return tuple(_staged(column) for column in target.columns if column.extra)


def is_of_source(column: StagedColumn) -> bool:
    """Return whether the column's values are in the log."""
    return not column.source_name.startswith("\0")


def with_change_values(changes: pa.Table, target: Table, transactions: Callable[[], pa.Table]) -> pa.Table:
    """Return the changes with the values that columns of the target take of them.

    transactions: reads the transactions of the changes. Raises TrailError TRL-103 where one is missing.
    """
    known: pa.Table | None = None
    for column in target.columns:
        if not column.extra:
            continue
        if known is None and (column.extra == DELETED_AT or value_of(column) in _OF_TRANSACTION):
            known = transactions()
        changes = changes.append_column(f"a_{_source_name(column)}", _values(changes, column, known))
    return changes


def deletes_as_updates(changes: pa.Table, layout: Sequence[str], key: Sequence[str]) -> pa.Table:
    """Return the changes with an UPDATE for each DELETE: its row stays, with the values that it had, and is marked.

    layout: every column in the order of the `absent` bitmap.
    """
    is_gone = changes["op"].to_numpy() == Op.DELETE
    if not is_gone.any():
        return changes
    gone = pa.array(is_gone)
    bits = np.array([name not in key for name in layout], bool)
    unknown = np.packbits(bits, bitorder="little").tobytes()
    found = {
        "op": pa.array(np.where(is_gone, Op.UPDATE, changes["op"].to_numpy()).astype(np.int8)),
        "absent": pc.if_else(gone, pa.scalar(unknown, changes["absent"].type), changes["absent"]),
        **{f"a_{name}": pc.if_else(gone, changes[f"b_{name}"], changes[f"a_{name}"]) for name in key},
    }
    for name, values in found.items():
        changes = changes.set_column(changes.column_names.index(name), name, values)
    return changes


def one_row_each(changes: pa.Table, names: Sequence[str], key: Sequence[str]) -> pa.Table:
    """Return the rows of a history: one per change, with the old values of a DELETE.

    An UPDATE of the key deletes its former one, too: that is a row more. Every change must have its whole old row.
    names, key: of the source's columns.
    """
    op = changes["op"].to_numpy()
    moved = np.zeros(len(op), bool)
    for name in key:
        old, new = changes[f"b_{name}"], changes[f"a_{name}"]
        differs = pc.and_(pc.is_valid(old), pc.fill_null(pc.not_equal(old, new), True))
        moved |= (op == Op.UPDATE) & differs.to_numpy()
    gone = changes.filter(pa.array(moved | (op == Op.DELETE)))
    for name in names:
        gone = gone.set_column(gone.column_names.index(f"a_{name}"), f"a_{name}", gone[f"b_{name}"])
    deletes = pa.array(np.full(gone.num_rows, Op.DELETE, np.int8))
    gone = gone.set_column(gone.column_names.index("op"), "op", deletes)
    return pa.concat_tables([changes.filter(pa.array(op != Op.DELETE)), gone])


def require_old_rows(changes: pa.Table, table: Table, why: str, layout: Sequence[str]) -> None:
    """Raise RowsRefused INT-112 where a change lacks its whole old row, or an update a value.

    why: what the table has, in words. layout: every column in the order of the `absent` bitmap.
    """
    is_old = changes["op"].to_numpy() != Op.INSERT
    lacking = is_old & (changes["before"].to_numpy() != 2)
    if lacking.any() or absent_columns(changes["absent"], layout):
        raise RowsRefused(
            f"a change of a table {why} came without all of its old values",
            code="INT-112",
            table=table.name,
            hint=f"at the source: {full(table.name)}; then `ddlrepl refresh --table` with this table",
        )


def _values(changes: pa.Table, column: Column, transactions: pa.Table | None) -> pa.Array:
    if column.extra == DELETED:
        return pc.equal(changes["op"], int(Op.DELETE))
    if column.extra == DELETED_AT:
        times = _of_change(changes, "commit_time", transactions)
        return pc.if_else(pc.equal(changes["op"], int(Op.DELETE)), times, None)
    return _of_change(changes, value_of(column), transactions)


def _of_change(changes: pa.Table, name: str, transactions: pa.Table | None) -> pa.Array:
    if name == "operation":
        return pa.array([_OPERATIONS[Op(op)] for op in changes["op"].to_pylist()], pa.string())
    if transactions is None or name not in _OF_TRANSACTION:
        return changes["lsn" if name == "position" else "seq"].cast(pa.int64())
    found = _of_transactions(changes["lsn"].to_numpy(), transactions, _OF_TRANSACTION[name])
    return pa.array(found - EPOCH if name == "commit_time" else found, pa.int64())


def _of_transactions(lsns: Ints, transactions: pa.Table, column: str) -> Ints:
    known, values = transactions["lsn"].to_numpy(), transactions[column].to_numpy()
    order = np.argsort(known, kind="stable")
    place = np.searchsorted(known[order], lsns)
    if len(lsns) and (len(known) == 0 or (known[order][np.minimum(place, len(known) - 1)] != lsns).any()):
        raise FileDamaged(
            "the trail has rows of a transaction that it does not list",
            code="TRL-103",
            hint="the segment's files are not those that were written together: restore them",
        )
    found: Ints = values[order][place]
    return found


def _source_name(column: Column) -> str:
    return f"\0{column.id}"


def _staged(column: Column) -> StagedColumn:
    staging = OF_CHANGE.get(value_of(column), column.type.text)
    target = column.type.text
    return StagedColumn(
        id=column.id,
        source_name=_source_name(column),
        name=column.name,
        staging_type=staging,
        target_type=target,
        cast="" if staging == target else target,
    )
