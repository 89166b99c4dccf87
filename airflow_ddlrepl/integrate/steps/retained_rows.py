"""These steps change what a delete does, for targets that retain rows: in a history, or marked as deleted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.model.change import Op


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
