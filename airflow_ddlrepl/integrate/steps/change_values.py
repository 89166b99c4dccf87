"""This step sets the columns of a target that take values of the changes themselves, such as the commit's time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.errors import FileDamaged
from airflow_ddlrepl.integrate.steps.row_columns import RowColumn
from airflow_ddlrepl.mapping.extra_columns import value_of
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.stored_names import TRANSACTION_ID
from airflow_ddlrepl.model.target_columns import DELETED, DELETED_AT

if TYPE_CHECKING:
    from airflow_ddlrepl.integrate.netting.equality import Ints

MOMENT = pa.timestamp("us", "UTC")
_OPERATIONS = {Op.INSERT: "insert", Op.UPDATE: "update", Op.DELETE: "delete"}
_OF_TRANSACTION = {"commit_time": "committed", "transaction": TRANSACTION_ID}


def with_change_values(
    changes: pa.Table, columns: Sequence[RowColumn], transactions: Callable[[], pa.Table]
) -> pa.Table:
    """Return the changes with the values that columns of the target take of them (`change_columns`).

    transactions: reads the transactions of the changes. Raises FileDamaged TRL-103 where one is missing.
    """
    known: pa.Table | None = None
    for column in columns:
        ours = column.target
        if known is None and (ours.extra == DELETED_AT or value_of(ours) in _OF_TRANSACTION):
            known = transactions()
        changes = changes.append_column(f"a_{column.name}", _values(changes, column, known))
    return changes


def _values(changes: pa.Table, column: RowColumn, transactions: pa.Table | None) -> pa.Array:
    if column.target.extra == DELETED:
        return pc.equal(changes["op"], int(Op.DELETE))
    if column.target.extra == DELETED_AT:
        times = _of_change(changes, "commit_time", transactions)
        return pc.if_else(pc.equal(changes["op"], int(Op.DELETE)), times, pa.scalar(None, MOMENT))
    return _of_change(changes, value_of(column.target), transactions)


def _of_change(changes: pa.Table, name: str, transactions: pa.Table | None) -> pa.Array:
    if name == "operation":
        return pa.array([_OPERATIONS[Op(op)] for op in changes["op"].to_pylist()], pa.string())
    if transactions is None or name not in _OF_TRANSACTION:
        return changes["lsn" if name == "position" else "seq"].cast(pa.int64())
    found = pa.array(_of_transactions(changes["lsn"].to_numpy(), transactions, _OF_TRANSACTION[name]), pa.int64())
    return found.cast(MOMENT) if name == "commit_time" else found


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
