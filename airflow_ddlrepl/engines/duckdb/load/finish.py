"""This module does with the loaded rows of a shadow what they still need, in a database of the task's own."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb.connection.tables_there import columns_there
from airflow_ddlrepl.engines.duckdb.load.shadow import Shadow
from airflow_ddlrepl.engines.duckdb.load.unfit_values import DISCARDED
from airflow_ddlrepl.engines.duckdb_sql.arrow import fetched, field_for
from airflow_ddlrepl.engines.duckdb_sql.instances import connected
from airflow_ddlrepl.engines.duckdb_sql.quoting import qualified, quote
from airflow_ddlrepl.model.names import TableName

_ROWS = "ddlrepl_loaded"


def finish(shadow: Shadow, name: TableName, statements: Sequence[str]) -> list[str]:
    """Run statements on the table of all rows of a shadow, whose chunks are then one; return the texts they give.

    A second time does no harm.
    """
    if shadow.is_finished or (rows := shadow.rows) is None:
        return []
    table = qualified(name)
    work, made = (shadow.folder / f"finish_{os.getpid()}{end}" for end in (".duckdb", ".arrow"))
    try:
        with connected(work) as connection:
            constants = {column: f" DEFAULT {sql}" for column, sql in shadow.constants.items()}
            columns = ", ".join(
                f"{quote(column)} {of}{constants.get(column, '')}" for column, of in shadow.types.items()
            )
            connection.execute(f"CREATE SCHEMA {quote(name.schema)}")
            connection.execute(f"CREATE TABLE {table} ({columns})")
            connection.register(_ROWS, rows)
            names = ", ".join(map(quote, rows.column_names))
            connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM {_ROWS}")
            told = [
                row[0] for one in statements for row in connection.execute(one).fetchall() if isinstance(row[0], str)
            ]
            beside = TableName(name.schema, DISCARDED)
            left = columns_there(connection, beside)
            discarded = connection.execute(f"FROM {qualified(beside)}").fetchall() if left else []
            types = columns_there(connection, name)
            schema = pa.schema([field_for(column, of) for column, of in types.items()])
            with pa.OSFile(str(made), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
                for batch in fetched(connection, {column: quote(column) for column in types}, types, f"FROM {table}"):
                    writer.write_batch(batch)
    finally:
        work.unlink(missing_ok=True)
    shadow.finish(made, discarded)
    return told
