"""This module finds the keys of the rows that a part of the log is about, as texts that compare with a target's own."""

from __future__ import annotations

import pyarrow as pa

from airflow_ddlrepl.engines.changed_keys import ChangedKeys, changed_keys, key_pairs, shows_keys
from airflow_ddlrepl.engines.comparing import WrittenKeys
from airflow_ddlrepl.engines.duckdb_sql.arrow import each_held
from airflow_ddlrepl.engines.duckdb_sql.instances import scratch
from airflow_ddlrepl.engines.duckdb_sql.physical import Physical
from airflow_ddlrepl.engines.duckdb_sql.source_rows import key_text
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.ports.change_values import Converted

_KEYS = "ddlrepl_changed"


def written_keys(task: WrittenKeys, physical: Physical) -> dict[str, bool] | None:
    """Return the keys of all rows that were written, each with whether its first change found a row.

    None: the log does not show them, or DuckDB can't hold one.
    """
    import duckdb

    if not shows_keys(task):
        return None
    found: dict[str, bool] = {}
    pairs = key_pairs(task.compared)
    types = [physical(ours.type, task.compared.shape.types) for _, ours in pairs]
    query = key_text(f"CAST(c{place} AS {of})" for place, of in enumerate(types))
    try:
        with scratch() as connection:
            for changed in changed_keys(task):
                values = [
                    _values(task, changed, place, source, of)
                    for place, ((source, _), of) in enumerate(zip(pairs, types, strict=True))
                ]
                columns = [*changed.keys.column_names, "finds_row", "place"]
                order = pa.array(range(changed.keys.num_rows))
                connection.register(_KEYS, pa.table([*values, changed.finds_row, order], columns))
                rows = connection.execute(f"SELECT {query}, finds_row FROM {_KEYS} ORDER BY place").fetchall()
                for text, finds_row in rows:
                    found.setdefault(text, finds_row)
    except duckdb.Error:
        return None
    return found


def _values(task: WrittenKeys, changed: ChangedKeys, place: int, column: Column, duckdb_type: str) -> pa.ChunkedArray:
    """Return the values of one column of the keys as the target holds them."""
    encodings = {one.name: one.encoding for one in changed.file.columns}

    def convert(chunk: pa.Array, field: pa.Field) -> Converted:
        types = task.compared.source.types
        return task.values.converted(chunk, encodings[column.name], column, field, types)

    return each_held(changed.keys[f"c{place}"], duckdb_type, convert)
