"""This module finds the keys of the rows that a part of the log is about, as texts that compare with a lake's own."""

from __future__ import annotations

import pyarrow as pa

from airflow_ddlrepl.engines.changed_keys import ChangedKeys, changed_keys, key_pairs, shows_keys
from airflow_ddlrepl.engines.comparing import WrittenKeys
from airflow_ddlrepl.engines.lake.compare.rows import held_type, key_texts
from airflow_ddlrepl.engines.lake.types.arrow import each_held
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.ports.change_values import Converted


def written_keys(task: WrittenKeys) -> dict[str, bool] | None:
    """Return the keys of all rows that were written, each with whether its first change found a row.

    None: the log does not show them, or a lake can't hold one.
    """
    if not shows_keys(task):
        return None
    found: dict[str, bool] = {}
    pairs = key_pairs(task.compared)
    try:
        for changed in changed_keys(task):
            values = [
                _values(task, changed, place, theirs, held_type(task.compared, ours))
                for place, (theirs, ours) in enumerate(pairs)
            ]
            for text, finds_row in zip(key_texts(values), changed.finds_row.to_pylist(), strict=True):
                found.setdefault(text, finds_row)
    except RowsRefused:
        return None
    return found


def _values(task: WrittenKeys, changed: ChangedKeys, place: int, column: Column, spark_type: str) -> pa.ChunkedArray:
    """Return the values of one column of the keys as the lake holds them."""
    encodings = {one.name: one.encoding for one in changed.file.columns}

    def convert(chunk: pa.Array, field: pa.Field) -> Converted:
        types = task.compared.source.types
        return task.values.converted(chunk, encodings[column.name], column, field, types)

    return each_held(changed.keys[f"c{place}"], spark_type, convert, column.name)
