"""This module lets the target's server evaluate SQL over rows of the log, before any of them is applied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.connection.settings import SCHEMA, SPELLING_HERE
from airflow_ddlrepl.engines.postgres.merge.copy_arrow import drop_stages, load
from airflow_ddlrepl.engines.postgres.merge.staging_tables import StagedColumn
from airflow_ddlrepl.model.names import TableName

SECONDS = 600
"""The server has so long for one table's rows: a row may have numbers of 100,000 digits to be multiplied."""


@contextmanager
def sql_evaluator(
    cursor: Any, name: str, columns: Sequence[StagedColumn], rows: pa.Table
) -> Iterator[Callable[[str], pa.Table]]:
    """Yield a function that evaluates SQL over the staged columns of `s`; it returns values in the order of the rows.

    name: of a staging table to use; it is gone at the end. rows: the columns' values, at least one row.
    """
    numbered = rows.append_column("i", pa.array(range(rows.num_rows), pa.int64()))
    drop_stages(cursor, [name])
    load(cursor, name, [*((column.staged_name, column.staging_type) for column in columns), ("i", "int8")], numbered)
    cursor.execute(f"{SPELLING_HERE}, {_timeout(SECONDS)}")
    cursor.fetchall()

    def ask(values: str) -> pa.Table:
        cursor.execute(f"SELECT {values} FROM {qualified(TableName(SCHEMA, name))} s ORDER BY s.i")
        return cursor.fetch_arrow_table()

    yield ask
    cursor.execute(f"SELECT {_timeout(0)}")
    cursor.fetchall()
    drop_stages(cursor, [name])


def _timeout(seconds: int) -> str:
    """Return SQL that limits statements up to the end of the transaction; 0: there is no limit."""
    return f"pg_catalog.set_config('statement_timeout', '{seconds}s', true)"
