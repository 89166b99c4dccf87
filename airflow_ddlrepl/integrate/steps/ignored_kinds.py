"""A target may ignore kinds of row changes: they leave the changes before these are netted."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.settings.row_kind import RowKind


def without_ignored(changes: pa.Table, kinds: Collection[RowKind]) -> tuple[pa.Table, dict[RowKind, int]]:
    """Return the changes without those of these kinds, and how many of each kind were left out."""
    op = changes["op"].to_numpy()
    left_out = {kind: int((op == Op[kind]).sum()) for kind in kinds}
    left_out = {kind: count for kind, count in left_out.items() if count}
    if left_out:
        changes = changes.filter(pa.array(~np.isin(op, [Op[kind] for kind in left_out])))
    return changes, left_out
