"""This module does with the loaded rows of a shadow what they still need, in a database of the task's own."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb.connection.instances import connected
from airflow_ddlrepl.engines.duckdb.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.duckdb.connection.tables_there import columns_there
from airflow_ddlrepl.engines.duckdb.load.shadow import Shadow
from airflow_ddlrepl.engines.duckdb.types.arrow import fetched, field_for
from airflow_ddlrepl.model.names import TableName

_ROWS = "ddlrepl_loaded"


def finish(shadow: Shadow, name: TableName, statements: Sequence[str]) -> None:
    """Run statements on the table of all rows of a shadow, whose chunks are then one. A second time does no harm."""
    if shadow.is_finished or (rows := shadow.rows) is None:
        return
    table = qualified(name)
    work, made = (shadow.folder / f"finish_{os.getpid()}{end}" for end in (".duckdb", ".arrow"))
    try:
        with connected(work) as connection:
            columns = ", ".join(f"{quote(column)} {of}" for column, of in shadow.types.items())
            connection.execute(f"CREATE SCHEMA {quote(name.schema)}")
            connection.execute(f"CREATE TABLE {table} ({columns})")
            connection.register(_ROWS, rows)
            names = ", ".join(map(quote, rows.column_names))
            connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM {_ROWS}")
            for statement in statements:
                connection.execute(statement)
            types = columns_there(connection, name)
            schema = pa.schema([field_for(column, of) for column, of in types.items()])
            with pa.OSFile(str(made), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
                for batch in fetched(connection, {column: quote(column) for column in types}, types, f"FROM {table}"):
                    writer.write_batch(batch)
    finally:
        work.unlink(missing_ok=True)
    shadow.finish(made)
