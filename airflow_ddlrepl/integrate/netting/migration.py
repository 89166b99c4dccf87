"""Row migration turns changes of a table into those that a target needs which takes only rows that meet a condition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.integrate.netting.presence import Flags
from airflow_ddlrepl.model.change import Op


def migrated(changes: pa.Table, was: Flags, now: Flags) -> pa.Table:
    """Return the changes that a target with the condition needs, in log order.

    was, now: per change, whether the condition is true for the row before and after it.
    An update that brings a row in is its insert, one that takes it out is its delete. Every UPDATE and DELETE must have
    its whole old row, and every UPDATE its whole new one.
    """
    op = changes["op"].to_numpy()
    is_update = op == Op.UPDATE
    comes, goes = is_update & now & ~was, is_update & was & ~now
    left = np.where(op == Op.INSERT, now, np.where(op == Op.DELETE, was, was | now))
    if left.all() and not comes.any() and not goes.any():
        return changes
    as_op = np.where(comes, Op.INSERT, np.where(goes, Op.DELETE, op)).astype(np.int8)
    before = np.where(comes, 0, changes["before"].to_numpy()).astype(np.int8)
    for name, values in (("op", as_op), ("before", before)):
        changes = changes.set_column(changes.column_names.index(name), name, pa.array(values))
    return changes.filter(pa.array(left))
