"""This module runs COPY through libpq itself, twice as fast as through psycopg's Copy objects."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors, passing
from airflow_ddlrepl.engines.postgres.connection.key_range_sql import in_ranges, ranges_sql
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING
from airflow_ddlrepl.errors import SourceError, UndecodableText, UnreadableTable
from airflow_ddlrepl.model.key_ranges import KeyRanges
from airflow_ddlrepl.model.names import TableName

BLOCK_BYTES = 1 << 18
# A schema change that waits for the session which holds the snapshot stands before us, and that session waits for us.
LOCK_TIMEOUT = "10s"


class SourceFailed(Exception):
    """This exception marks a failure as the source's, where rows go from a source to a target in one loop."""


@contextmanager
def as_source() -> Iterator[None]:
    """Raise SourceFailed for a driver's error inside the `with`: it is the source's."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise SourceFailed(" ".join(str(error).split())) from error


@contextmanager
def reading(table: TableName) -> Iterator[None]:
    """Raise UnreadableTable SRC-170 for a SourceFailed inside the `with`; a SourceError where the server is gone."""
    try:
        yield
    except SourceFailed as error:
        if isinstance(error.__cause__, errors().CharacterNotInRepertoire):
            raise UndecodableText(
                f"the table can't be read: a text in it is no UTF-8: {error}",
                code="SRC-175",
                table=table,
                hint="the source's database has the encoding SQL_ASCII, which takes any bytes: correct the value with"
                " an UPDATE, with client_encoding set to what it was written in; the next run loads the table",
            ) from None
        raise _unreadable_table(table, error) from None


def _unreadable_table(table: TableName, error: SourceFailed) -> SourceError:
    message = f"the table can't be read: {error}"
    hint = "the target's table is as it was; the next run starts this refresh over"
    if error.__cause__ is not None and passing(error.__cause__):
        return SourceError(message, code="SRC-170", table=table, hint=hint, retryable=True)
    state = getattr(error.__cause__, "sqlstate", None) or ""
    return UnreadableTable(
        message, said=str(error), sqlstate=state, code="SRC-170", table=table, hint=hint, retryable=True
    )


def open_snapshot(source: Connection[Any], snapshot: str) -> None:
    """Make a connection read under an exported snapshot.

    snapshot: empty: one of its own. Raises SourceFailed.
    """
    with as_source():
        source.execute(f"{SPELLING}; SET lock_timeout = '{LOCK_TIMEOUT}'".encode())
        source.commit()
        source.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if snapshot:
            source.execute(f"SET TRANSACTION SNAPSHOT {literal(snapshot)}".encode())


def copy_out(
    table: TableName,
    columns: Iterable[str],
    low_page: int,
    high_page: int | None,
    *,
    binary: bool,
    wanted: str = "",
    ranges: KeyRanges | None = None,
) -> str:
    """Return the COPY statement that writes the rows in a range of pages.

    wanted: SQL that is true for those that are read; empty: all. ranges: of their key; None: all.
    """
    rows = select(table, map(quote, columns), low_page, high_page, wanted, ranges)
    return f"COPY ({rows}) TO STDOUT (FORMAT {_style(binary)})"


def copy_table(table: TableName, columns: Iterable[str], *, binary: bool) -> str:
    """Return the COPY statement that writes all rows of a table, and plans no query over it: nobody's code runs."""
    names = ", ".join(map(quote, columns))
    return f"COPY {qualified(table)}{names and f' ({names})'} TO STDOUT (FORMAT {_style(binary)})"


def select(
    table: TableName,
    values: Iterable[str],
    low_page: int = 0,
    high_page: int | None = None,
    wanted: str = "",
    ranges: KeyRanges | None = None,
) -> str:
    """Return a query for these values of the rows in a range of pages.

    wanted: SQL that is true for those that are read; empty: all. ranges: of their key; None: all.
    """
    where = [wanted] if wanted else []
    where += [in_ranges(ranges)] if ranges is not None else []
    where += [f"ctid >= '({low_page},0)'"] if low_page else []
    where += [f"ctid < '({high_page},0)'"] if high_page is not None else []
    beside = f", {ranges_sql(ranges)}" if ranges is not None else ""
    return f"SELECT {', '.join(values)} FROM ONLY {qualified(table)}{beside}" + (
        f" WHERE {' AND '.join(where)}" if where else ""
    )


def copy_in(table: TableName, columns: Sequence[str], *, binary: bool) -> str:
    """Return the COPY statement that reads rows into a table.

    columns: empty: all of them.
    """
    into = f" ({', '.join(map(quote, columns))})" if columns else ""
    return f"COPY {qualified(table)}{into} FROM STDIN (FORMAT {_style(binary)})"


def blocks_of(source: Connection[Any], out: str) -> Generator[bytes, None, int]:
    """Yield what a COPY … TO STDOUT returns, in blocks; return how many rows that were.

    Raises SourceFailed.
    """
    reader = source.pgconn
    reader.nonblocking = 0
    with as_source():
        _expect(reader.exec_(out.encode()), "COPY_OUT")
        take, block = reader.get_copy_data, bytearray()
        while (found := take(0))[0] > 0:
            block += found[1]
            if len(block) >= BLOCK_BYTES:
                yield bytes(block)
                block.clear()
        rows = _end(reader)
    yield bytes(block)
    return rows


def feed(target: Connection[Any], into: str, blocks: Iterable[bytes]) -> int:
    """Run a COPY … FROM STDIN with these blocks; return how many rows it has written."""
    writer = target.pgconn
    writer.nonblocking = 0
    _expect(writer.exec_(into.encode()), "COPY_IN")
    try:
        for block in blocks:
            writer.put_copy_data(block)
        writer.put_copy_end()
    except errors().OperationalError:
        _end(writer)  # tells why, when it was the server that gave up
        raise
    return _end(writer)


def _style(binary: bool) -> str:
    return "binary" if binary else "text"


def _end(connection: Any) -> int:
    """Read the server's results at the end of a COPY, so that the session can go on; return how many rows it counts."""
    from psycopg.pq import ExecStatus

    count, refusal = 0, None
    while (result := connection.get_result()) is not None:
        if result.status == ExecStatus.FATAL_ERROR:
            refusal = refusal or result
            continue
        _expect(result, "COMMAND_OK")
        count = result.command_tuples or 0
    if refusal is not None:
        _expect(refusal, "COMMAND_OK")
    return count


def _expect(result: Any, status: str) -> None:
    from psycopg.errors import error_from_result
    from psycopg.pq import ExecStatus

    if ExecStatus(result.status).name != status:
        raise error_from_result(result)
