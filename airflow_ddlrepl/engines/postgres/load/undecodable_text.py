"""This module finds the value of a table that is no UTF-8, where the server refuses to send it as such."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.postgres.connection.copy import blocks_of, copy_table
from airflow_ddlrepl.engines.postgres.connection.driver import Connection

if TYPE_CHECKING:
    from airflow_ddlrepl.model.names import TableName

_SHOWN = 60


def place_of_bad_text(connection: Connection[Any], table: TableName, columns: Sequence[str]) -> str:
    """Return the column with bytes that are no UTF-8, and how their row begins; empty where none is found.

    connection: in a transaction in which the table can be read.
    """
    connection.execute("SET client_encoding = 'SQL_ASCII'")
    for number, line in enumerate(_lines(blocks_of(connection, copy_table(table, columns, binary=False))), 1):
        for name, value in zip(columns, line.split(b"\t"), strict=False):
            try:
                value.decode()
            except UnicodeDecodeError:
                shown = line[:_SHOWN].decode("ascii", "backslashreplace")
                return f"column {name} of the row no. {number} of a COPY ({shown})"
    return ""


def _lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
