"""This module gathers the planner's statistics of a table: rows are there without them, too."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import passing
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.model.names import TableName

LONGEST = 300
"""This many characters of a server's message are shown, which repeats values of any length."""


def gather_statistics(connection: Connection[Any], table: TableName) -> str:
    """Run ANALYZE on the table; return why the server can't, or an empty text.

    An open transaction goes on in any case. ANALYZE fails for values that it can't measure, e.g. ranges whose length
    is no double precision. Raises psycopg's error when the connection breaks or the disk is full.
    """
    import psycopg

    try:
        with connection.transaction():
            connection.execute(f"ANALYZE {qualified(table)}".encode())
    except psycopg.Error as error:
        if passing(error) is not None:
            raise
        text = " ".join(str(error).split())
        shown = text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"
        return f"the server can't gather statistics, so its query plans for this table are guesses: {shown}"
    return ""
