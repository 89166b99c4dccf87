"""This module removes tables in our schema that killed runs have left: staging tables and shadow tables."""

from __future__ import annotations

import logging
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.connection.settings import SCHEMA
from airflow_ddlrepl.model.names import TableName

log = logging.getLogger("ddlrepl")


def tables_to_drop(cursor: Any, stem: str) -> list[str]:
    """Return the names of the tables in our schema that begin with a stem.

    cursor: of psycopg.
    """
    cursor.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r'"
        " AND starts_with(relname, %s) ORDER BY 1",
        [SCHEMA, stem],
    )
    return [row[0] for row in cursor.fetchall()]


def sweep(connection: Any, stem: str, token: int) -> None:
    """Remove the tables `<stem><token>_…` of earlier runs; one in use stays for the next run.

    connection: in autocommit.
    """
    with connection.cursor() as cursor:
        for name in tables_to_drop(cursor, stem):
            if int(name.removeprefix(stem).partition("_")[0]) < token:
                try:
                    with connection.transaction():
                        cursor.execute("SET LOCAL lock_timeout = '2s'")
                        cursor.execute(f"DROP TABLE IF EXISTS {qualified(TableName(SCHEMA, name))}".encode())
                except errors().LockNotAvailable:
                    log.warning("%s is still in use by a run that is over; the next run removes it", name)
