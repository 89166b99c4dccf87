"""Load one chunk of a table: COPY out of the source under an exported snapshot, COPY into the shadow table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.postgres.connect import errors, passing, session
from airflow_ddlrepl.engines.postgres.exported import without_timeouts
from airflow_ddlrepl.engines.postgres.names import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.sessions import session_name
from airflow_ddlrepl.errors import SourceError, TargetError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connect import Connection

SPELLING = (
    "SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres'; SET bytea_output = 'hex'; SET timezone = 'UTC';"
    " SET extra_float_digits = 1; SET lc_monetary = 'C'; SET xmloption = 'content';"
    " SET row_security = off; SET search_path = pg_catalog"
)
BLOCK_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class LoadTask:
    """One chunk to load; picklable, its text never shows a location.

    snapshot: exported at the source, valid while its exporter lives. columns: (name at the source, name in the
    shadow table). binary: COPY's format. token: of this refresh; chunk: unique in it. after: statements that are
    run and committed with the rows, for a table that is one chunk.
    """

    source_dsn: str = field(repr=False)
    target_dsn: str = field(repr=False)
    snapshot: str
    table: TableName
    shadow: TableName
    columns: tuple[tuple[str, str], ...]
    low_page: int
    high_page: int | None
    token: str
    chunk: str
    binary: bool = True
    after: tuple[str, ...] = ()


def load_chunks(tasks: Sequence[LoadTask]) -> list[int]:
    """Rows loaded, per task, one after the other over one pair of connections; all of one refresh.

    The rows and the chunk's mark are committed together: run twice, it loads once.
    Raises SourceError SRC-170 when the source can't be read, TargetError TGT-120 when the target can't be written.
    """
    first = tasks[0]
    name = session_name("refresh", first.chunk.partition("/")[0], first.token)
    with (
        session(first.target_dsn, autocommit=False, application_name=name) as target,
        session(first.source_dsn, autocommit=False, application_name=name) as source,
    ):
        try:
            with _refusals(first):
                with _as_source():
                    _open_snapshot(source, first)
                target.execute(SPELLING.encode())
                target.execute("SET synchronous_commit = off")
                without_timeouts(target)
            return [_loaded(source, target, task) for task in tasks]
        except BaseException:
            source.close()  # in the middle of a COPY nothing else ends it
            target.close()
            raise


def _loaded(source: Connection[Any], target: Connection[Any], task: LoadTask) -> int:
    with _refusals(task):
        return _load(source, target, task)


class _SourceFailed(Exception):
    """The cause is the source's."""


@contextmanager
def _as_source() -> Iterator[None]:
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise _SourceFailed(" ".join(str(error).split())) from error


@contextmanager
def _refusals(task: LoadTask) -> Iterator[None]:
    import psycopg

    try:
        yield
    except _SourceFailed as error:
        raise SourceError(
            f"the table can't be read: {error}",
            code="SRC-170",
            table=task.table,
            hint="the target's table is as it was; the next run starts this refresh over",
            retryable=True,
        ) from None
    except psycopg.Error as error:
        if (trouble := passing(error, "the target")) is not None:
            raise trouble from None
        raise TargetError(
            f"loading {task.shadow} failed: {' '.join(str(error).split())}",
            code="TGT-120",
            table=task.table,
            hint="the target's table is as it was; the next run starts this refresh over",
            retryable=True,
        ) from None


def _open_snapshot(source: Connection[Any], task: LoadTask) -> None:
    source.execute(SPELLING.encode())
    without_timeouts(source)
    source.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
    source.execute(f"SET TRANSACTION SNAPSHOT {literal(task.snapshot)}".encode())


def _load(source: Connection[Any], target: Connection[Any], task: LoadTask) -> int:
    mark = [_marks_of(target, task), task.chunk]
    try:
        target.execute("INSERT INTO ddlrepl.chunks VALUES (%s, %s, 0)", mark)
    except errors().UniqueViolation:
        target.rollback()
        row = target.execute("SELECT rows FROM ddlrepl.chunks WHERE token = %s AND chunk = %s", mark).fetchone()
        return int(row[0]) if row else 0
    count = _pipe(source, target, *_copies(task))
    for statement in task.after:
        target.execute(statement.encode())
    reach("refresh.copied")
    target.execute("UPDATE ddlrepl.chunks SET rows = %s WHERE token = %s AND chunk = %s", [count, *mark])
    target.commit()
    reach("refresh.chunk")
    return count


def _marks_of(target: Connection[Any], task: LoadTask) -> str:
    """Marks belong to one shadow table: one made again under the same name starts without any."""
    row = target.execute("SELECT %s::regclass::oid::text", [qualified(task.shadow)]).fetchone()
    assert row is not None
    return f"{task.token}/{row[0]}"


def forget_marks(connection: Connection[Any]) -> None:
    """Remove the marks of shadow tables that are gone, or that have become tables."""
    connection.execute(
        "DELETE FROM ddlrepl.chunks WHERE NOT EXISTS (SELECT FROM pg_class c"
        " WHERE c.oid::text = split_part(token, '/', 2) AND c.relnamespace = 'ddlrepl'::regnamespace)"
    )


def _copies(task: LoadTask) -> tuple[str, str]:
    style = "binary" if task.binary else "text"
    names = ", ".join(quote(name) for name, _ in task.columns)
    into = ", ".join(quote(name) for _, name in task.columns)
    into = f" ({into})" if into else ""
    out = f"COPY (SELECT {names} FROM ONLY {qualified(task.table)}{_where(task)}) TO STDOUT (FORMAT {style})"
    return out, f"COPY {qualified(task.shadow)}{into} FROM STDIN (FORMAT {style})"


def _pipe(source: Connection[Any], target: Connection[Any], out: str, into: str) -> int:
    """COPY to COPY through libpq itself: twice as fast as through psycopg's Copy objects. Returns the rows."""
    reader, writer = source.pgconn, target.pgconn
    reader.nonblocking = writer.nonblocking = 0
    with _as_source():
        _expect(reader.exec_(out.encode()), "COPY_OUT")
    _expect(writer.exec_(into.encode()), "COPY_IN")
    try:
        for block in _blocks(reader):
            writer.put_copy_data(block)
        writer.put_copy_end()
    except errors().OperationalError:
        _end(writer)  # tells why, when it was the server that gave up
        raise
    return _end(writer)


def _blocks(reader: Any) -> Iterator[bytes]:
    with _as_source():
        take, block = reader.get_copy_data, bytearray()
        while (found := take(0))[0] > 0:
            block += found[1]
            if len(block) >= BLOCK_BYTES:
                yield bytes(block)
                block.clear()
        _end(reader)
    yield bytes(block)


def _end(connection: Any) -> int:
    """What the server says at the end of a COPY: how many rows."""
    count = 0
    while (result := connection.get_result()) is not None:
        _expect(result, "COMMAND_OK")
        count = result.command_tuples or 0
    return count


def _expect(result: Any, status: str) -> None:
    from psycopg.errors import error_from_result
    from psycopg.pq import ExecStatus

    if ExecStatus(result.status).name != status:
        raise error_from_result(result)


def _where(task: LoadTask) -> str:
    parts = [f"ctid >= '({task.low_page},0)'"] if task.low_page else []
    if task.high_page is not None:
        parts.append(f"ctid < '({task.high_page},0)'")
    return " WHERE " + " AND ".join(parts) if parts else ""
