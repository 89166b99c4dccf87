"""This module lets another server tell which rows of a COPY meet a condition, where the source may not be asked.

They go through a temporary table of texts in a session there, and come back as a COPY writes them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence

from airflow_ddlrepl.engines.postgres.connection.conditions import is_true
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.copy import blocks_of, copy_in, feed
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.condition.expression import Part

_TABLE = TableName("pg_temp", "ddlrepl filtered")


def filtered(
    dsn: str,
    blocks: Iterator[bytes],
    columns: Sequence[str],
    wanted: Sequence[str],
    condition: Part,
    types: Mapping[str, str],
) -> Generator[bytes, None, int]:
    """Yield the rows that meet a condition, in the text format of COPY; return how many they are.

    dsn: of the server that answers. blocks: of all rows, in that format, with these columns. wanted: those that are
    yielded. types: of the columns, as SQL; below a domain, whose checks are not asked.
    """
    layout = ", ".join(f"{quote(name)} text" for name in columns)
    true = is_true(condition, lambda name: f"CAST({quote(name)} AS {types[name]})")
    names = ", ".join(map(quote, wanted))
    with session(dsn, autocommit=False, application_name="ddlrepl refresh") as connection:
        connection.execute(SPELLING.encode())
        connection.execute(f"CREATE TEMPORARY TABLE {qualified(_TABLE)} ({layout})".encode())
        feed(connection, copy_in(_TABLE, columns, binary=False), blocks)
        out = f"COPY (SELECT {names} FROM {qualified(_TABLE)} WHERE {true}) TO STDOUT (FORMAT text)"
        try:
            count = yield from blocks_of(connection, out)
            connection.rollback()
        except BaseException:
            connection.close()  # in the middle of a COPY nothing else ends it
            raise
        return count
