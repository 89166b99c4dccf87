"""A table's rows with the values that a function gives them, read as text and ready for COPY."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.connection.connect import arrow_connection
from airflow_ddlrepl.engines.postgres.connection.copy import LOCK_TIMEOUT, SourceFailed, select
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote
from airflow_ddlrepl.engines.postgres.connection.settings import ROWS
from airflow_ddlrepl.engines.postgres.merge.value_function import spelled
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.transform.values import Transform, batches, values

_ESCAPES = (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


@dataclass(frozen=True, slots=True)
class Rows:
    """Which rows of a table: of these pages, those that `wanted` (SQL) is true for; under an exported snapshot.

    high_page: None, to the end. wanted: empty, all. snapshot: empty, one of its own.
    """

    table: TableName
    low_page: int = 0
    high_page: int | None = None
    wanted: str = ""
    snapshot: str = ""


def transformed_rows(
    dsn: str, rows: Rows, columns: Sequence[str], transform: Transform, table: TableName
) -> Iterator[bytes]:
    """What a COPY in text format takes, for these columns. No more than a batch of rows is in memory at a time.

    table: what the rows are of, for errors.

    Raises SourceFailed where the rows can't be read, and what `values` raises.
    """
    read = list(dict.fromkeys((*columns, *transform.reads)))
    connection = arrow_connection(dsn)
    try:
        with connection.cursor() as cursor:
            _begin(connection, cursor, rows.snapshot)
            texts = (f"{spelled(quote(name))} AS {quote(name)}" for name in read)
            cursor.execute(select(rows.table, texts, rows.low_page, rows.high_page, rows.wanted))
            for batch in cursor.fetch_record_batch():
                for part in batches(pa.Table.from_batches([batch])):
                    found = pa.Table.from_batches([part])
                    given = values(transform, found, table)
                    yield copied([given.get(name, found[name]) for name in columns], found.num_rows)
    except (connection.Error, pa.ArrowException) as error:
        raise SourceFailed(" ".join(str(error).split())) from error
    finally:
        connection.close()


def _begin(connection: Any, cursor: Any, snapshot: str) -> None:
    """A transaction in which every value is written as everywhere."""
    settings = {**ROWS, "application_name": "ddlrepl refresh", "lock_timeout": LOCK_TIMEOUT}
    for name, value in settings.items():
        cursor.execute(f"SET {name} = {literal(value)}")
    connection.adbc_connection.set_autocommit(False)
    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
    if snapshot:
        cursor.execute(f"SET TRANSACTION SNAPSHOT {literal(snapshot)}")


def copied(columns: Sequence[Any], rows: int) -> bytes:
    """COPY's text format. columns: strings."""
    if not columns:
        return b"\n" * rows
    cells = [_cells(pa.chunked_array(column) if isinstance(column, pa.Array) else column) for column in columns]
    lines = pc.binary_join_element_wise(*cells, "\t") if len(cells) > 1 else cells[0]
    return "\n".join((*lines.to_pylist(), "")).encode()


def _cells(column: pa.ChunkedArray) -> pa.ChunkedArray:
    for plain, escaped in _ESCAPES:
        column = pc.replace_substring(column, plain, escaped)
    return pc.fill_null(column, "\\N")
