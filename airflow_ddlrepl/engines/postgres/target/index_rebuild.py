"""This module creates the indexes that people gave a table again, when a new table takes its place.

Nothing else may depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from airflow_ddlrepl.engines.postgres.catalog.dependents import dependants, names_of_keys
from airflow_ddlrepl.engines.postgres.catalog.server_facts import ServerFacts
from airflow_ddlrepl.engines.postgres.connection.driver import Cursor
from airflow_ddlrepl.engines.postgres.connection.errors import CONTENTION, passing
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table

_INDEXES = """
SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = {table}::regclass AND c.relname <> ALL ({keys})
  AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
ORDER BY c.relname
"""


def own_indexes(cursor: Cursor[Any], table: Table) -> list[str]:
    """Return the indexes that people gave a table of the channel's, as statements.

    Raises CannotAdapt ADP-133 where anything else depends on it, which would be lost.
    """
    found = ServerFacts(cursor.connection).table(table.name)
    if found is None:
        return []
    ours = {column.name for column in table.columns}
    hanging = [f"column {column.name}" for column in found.columns if column.name not in ours]
    hanging += [what for what in dependants(cursor.connection, found) if not what.startswith("index ")]
    if hanging:
        raise CannotAdapt(
            f"the table can't be replaced by a new one, because these objects depend on it: {', '.join(hanging)}",
            code="ADP-133",
            table=table.name,
            hint="nothing was changed; drop these objects and run again, or choose another"
            " on_preserve_alter_table_fail for this table",
        )
    cursor.execute(_INDEXES.format(table=literal(qualified(table.name)), keys=names_of_keys(found)).encode())
    return [str(row[0]) for row in cursor.fetchall()]


def index_again(cursor: Cursor[Any], table: TableName, indexes: Sequence[str]) -> Iterator[str]:
    """Create these indexes, where that is possible.

    Yield a warning with the statement of each that can't be created.
    """
    import psycopg

    for statement in indexes:
        try:
            with cursor.connection.transaction():
                cursor.execute(statement.encode())
        except psycopg.Error as error:
            if error.sqlstate in CONTENTION or passing(error) is not None:
                raise
            yield f"{table}: an index does not fit the new table and is gone: {statement}: {str(error).splitlines()[0]}"
