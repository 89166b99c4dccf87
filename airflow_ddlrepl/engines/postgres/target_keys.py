"""Keys whose equality only the target knows (citext, interval, case-blind collations, …) are numbered there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from airflow_ddlrepl.engines.postgres.load import drop_stages, load
from airflow_ddlrepl.engines.postgres.names import qualified
from airflow_ddlrepl.engines.postgres.staged import SCHEMA, StagedColumn
from airflow_ddlrepl.integrate.equality import KeyColumn
from airflow_ddlrepl.integrate.keys import KeyIds, distinct_keys, target_keys
from airflow_ddlrepl.integrate.presence import absent_columns, with_whole_keys
from airflow_ddlrepl.model.names import TableName


def numbered(
    cursor: Any,
    name: str,
    changes: pa.Table,
    layout: Sequence[str],
    key: Sequence[KeyColumn],
    columns: Sequence[StagedColumn],
) -> KeyIds:
    """The keys of all rows, equal where the target finds them equal. name: of a staging table to use."""
    whole = with_whole_keys(changes, [k.name for k in key], absent_columns(changes["absent"], layout))
    values, codes = distinct_keys(whole, key)
    by_name = {column.source_name: column for column in columns}
    keys = [by_name[k.name] for k in key]
    rows = values.append_column("i", pa.array(range(values.num_rows), pa.int64()))
    load(cursor, name, [*((column.staged_name, column.staging_type) for column in keys), ("i", "int8")], rows)
    order = ", ".join(_comparable(column) for column in keys)
    table = qualified(TableName(SCHEMA, name))
    cursor.execute(f"SELECT dense_rank() OVER (ORDER BY {order}) FROM {table} s ORDER BY s.i")
    numbers = cursor.fetch_arrow_table().column(0).to_numpy()
    drop_stages(cursor, [name])
    return target_keys(whole, codes, numbers)


def _comparable(column: StagedColumn) -> str:
    collation = f" COLLATE {column.collation}" if column.collation else ""
    return f"{column.image('s')}{collation}"
