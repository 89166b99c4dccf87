"""Load one chunk of a table: COPY out of the source under an exported snapshot, COPY into the shadow table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.postgres.connect import connect, errors
from airflow_ddlrepl.engines.postgres.names import literal, qualified, quote
from airflow_ddlrepl.errors import SourceError, TargetError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connect import Connection

SPELLING = (
    "SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres'; SET bytea_output = 'hex'; SET timezone = 'UTC';"
    " SET extra_float_digits = 1; SET lc_monetary = 'C'; SET xmloption = 'content'; SET statement_timeout = 0"
)


@dataclass(frozen=True, slots=True)
class LoadTask:
    """One chunk to load; picklable, its text never shows a location.

    snapshot: exported at the source, valid while its exporter lives. columns: (name at the source, name in the
    shadow table). binary: COPY's format. token: of this refresh; chunk: unique in it.
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


def load_chunk(task: LoadTask) -> int:
    """Rows loaded. The rows and the chunk's mark are committed together: run twice, it loads once.

    Raises SourceError SRC-170 when the source can't be read, TargetError TGT-120 when the target can't be written.
    """
    import psycopg

    with connect(task.target_dsn, autocommit=False, application_name="ddlrepl refresh") as target:
        with connect(task.source_dsn, autocommit=False, application_name="ddlrepl refresh") as source:
            try:
                _open_snapshot(source, task)
            except psycopg.Error as error:
                raise SourceError(
                    f"the snapshot can't be read: {str(error).splitlines()[0]}",
                    code="SRC-170",
                    table=task.table,
                    hint="the refresh starts over with the next run",
                    retryable=True,
                ) from None
            try:
                return _copy(source, target, task)
            except psycopg.Error as error:
                raise TargetError(
                    f"loading {task.shadow} failed: {' '.join(str(error).split())}",
                    code="TGT-120",
                    table=task.table,
                    hint="the old table is as it was; the next run starts this refresh over",
                    retryable=True,
                ) from None


def _open_snapshot(source: Connection[Any], task: LoadTask) -> None:
    source.execute(SPELLING.encode())
    source.commit()
    source.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
    source.execute(f"SET TRANSACTION SNAPSHOT {literal(task.snapshot)}".encode())


def _copy(source: Connection[Any], target: Connection[Any], task: LoadTask) -> int:
    target.execute(SPELLING.encode())
    target.execute("SET synchronous_commit = off")
    target.commit()
    try:
        target.execute("INSERT INTO ddlrepl.chunks VALUES (%s, %s, 0)", [task.token, task.chunk])
    except errors().UniqueViolation:
        target.rollback()
        row = target.execute(
            "SELECT rows FROM ddlrepl.chunks WHERE token = %s AND chunk = %s", [task.token, task.chunk]
        ).fetchone()
        return int(row[0]) if row else 0
    style = "binary" if task.binary else "text"
    names = ", ".join(quote(name) for name, _ in task.columns)
    into = ", ".join(quote(name) for _, name in task.columns)
    out = f"COPY (SELECT {names} FROM ONLY {qualified(task.table)}{_where(task)}) TO STDOUT (FORMAT {style})"
    with target.cursor() as writer, source.cursor() as reader:
        with (
            reader.copy(out.encode()) as rows,
            writer.copy(f"COPY {qualified(task.shadow)} ({into}) FROM STDIN (FORMAT {style})".encode()) as sink,
        ):
            for block in rows:
                sink.write(block)
        count = writer.rowcount
    target.execute(
        "UPDATE ddlrepl.chunks SET rows = %s WHERE token = %s AND chunk = %s", [count, task.token, task.chunk]
    )
    target.commit()
    reach("refresh.chunk")
    return count


def _where(task: LoadTask) -> str:
    parts = [f"ctid >= '({task.low_page},0)'"] if task.low_page else []
    if task.high_page is not None:
        parts.append(f"ctid < '({task.high_page},0)'")
    return " WHERE " + " AND ".join(parts) if parts else ""
