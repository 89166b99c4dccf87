"""This module says whether parts of what is to be applied can be applied at the same time, in sessions of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.engines.abilities.lcr_target import NotTogether
from airflow_ddlrepl.engines.postgres.apply_lcrs.row_sets import row_keys
from airflow_ddlrepl.engines.postgres.apply_lcrs.row_waves import numbers
from airflow_ddlrepl.engines.postgres.apply_lcrs.table_layout import TableLayout
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch
from airflow_ddlrepl.streams.messages import MessageClass


def are_apart(
    parts: Sequence[Sequence[RowBatch]], layouts: Mapping[TableName, TableLayout | None], message_class: MessageClass
) -> bool:
    """Return whether no part changes a row, or frees a unique value, that another one waits for.

    False: perhaps one does. layouts: of the tables that are known so far.
    """
    of_tables: dict[TableName, list[tuple[int, RowBatch]]] = {}
    for number, batches in enumerate(parts):
        for one in batches:
            of_tables.setdefault(TableName(one.owner, one.name), []).append((number, one))
    shared = {name: found for name, found in of_tables.items() if len({number for number, _ in found}) > 1}
    try:
        return all(_are_apart(found, layouts.get(name), message_class) for name, found in shared.items())
    except NotTogether:
        return False


def _are_apart(
    batches: Sequence[tuple[int, RowBatch]], layout: TableLayout | None, message_class: MessageClass
) -> bool:
    """Return whether batches of a table have no key in common, but those of one part. Raises NotTogether."""
    if layout is None or not layout.key or not layout.has_only_key:
        return False
    keys = [row_keys(one, layout, message_class) for _, one in batches]
    columns = range(len(layout.key))
    before, after = ([pa.concat_arrays([each[side][at] for each in keys]) for at in columns] for side in (0, 1))
    part = np.repeat([number for number, _ in batches], [len(one) for _, one in batches])
    row, of = np.concatenate(numbers(before, after)), np.concatenate([part, part])
    order = np.argsort(row, kind="stable")
    is_same = row[order][1:] == row[order][:-1]
    return not (is_same & (of[order][1:] != of[order][:-1])).any()
