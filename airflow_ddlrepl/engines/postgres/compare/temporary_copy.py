"""This module copies the source's rows, as a target is to have them, into a temporary table of one target session.

So they are compared as the target's types write them, and nothing is left when the session ends, however it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from airflow_ddlrepl.engines.comparing import CompareTask
from airflow_ddlrepl.engines.postgres.catalog.statistics import gather_statistics
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.copy import SourceFailed, copy_in, feed
from airflow_ddlrepl.engines.postgres.connection.copy_text import copy_text
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import passing
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.postgres.connection.read_errors import unreadable_table
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING
from airflow_ddlrepl.engines.postgres.ddl.columns import define
from airflow_ddlrepl.engines.postgres.load.table_rows import TableRows, plain, text_batches
from airflow_ddlrepl.engines.postgres.types.as_written import read_as, written
from airflow_ddlrepl.engines.postgres.types.misfits import functions, nulling, removing
from airflow_ddlrepl.errors import TargetError, UndecodableText, UnreadableTable
from airflow_ddlrepl.mapping.misfits import as_text
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.ports.rows import RowSource

NAME = TableName("pg_temp", "ddlrepl compare")


@contextmanager
def temporary_copy(task: CompareTask) -> Iterator[tuple[Connection[Any], Table, int]]:
    """Open a session at the target, fill its table `NAME` with the source's rows, as `fill` does.

    Yield the session, the table's shape, and how many rows were discarded, which are not in it.
    """
    opened = session(task.target_dsn, autocommit=True, application_name="ddlrepl compare")
    with opened as connection:
        connection.execute(f"{SPELLING}; SET work_mem = '128MB'".encode())
        yield connection, *fill(connection, task)


def fill(connection: Connection[Any], task: CompareTask) -> tuple[Table, int]:
    """Fill the table `NAME` of a session with the source's rows; return its shape, and how many rows were discarded.

    The shape is that of the target's table, without the columns that the source does not have.
    Raises SourceError SRC-180 or TargetError TGT-180 where a side can't be read or written, and what `values` raises.
    """
    source = task.source
    theirs = {column.id: column for column in source.columns}
    held = task.shape.with_(
        name=NAME, key=source.key, second_key=None, columns=tuple(map(_bare, task.shape.columns)), partition=None
    )
    pairs = [(theirs[c.id].name, c.name) for c in held.columns if c.id in theirs and not c.generated]
    with _refusals(source.name):
        unfit = {column.id: column for column in held.columns if column.id in {one.id for one in task.unfit}}
        layout = ", ".join(define(as_text(column) if column.id in unfit else column) for column in held.columns)
        connection.execute(f"CREATE TEMPORARY TABLE {qualified(NAME)} ({layout})".encode())
        texts = _copy_rows(_readable(task, [name for name, _ in pairs]), [name for name, _ in pairs])
        feed(connection, copy_in(NAME, [name for _, name in pairs], binary=False), texts)
        discarded = _fit(connection, list(unfit.values()), discards=task.discards)
        gather_statistics(connection, NAME)
        shape = held.with_(columns=tuple(column for column in held.columns if column.id in theirs))
        return shape, discarded


def _fit(connection: Connection[Any], unfit: Sequence[Column], *, discards: bool) -> int:
    """Replace the texts which these columns can't hold, or remove their rows; then give the columns their types.

    Return how many rows were removed.
    """
    for statement in functions(unfit):
        connection.execute(statement.encode())
    removed = connection.execute(removing(NAME, unfit).encode()).rowcount if unfit and discards else 0
    for column in unfit:
        if not discards:
            connection.execute(nulling(NAME, column).encode())
        name, collate = quote(column.name), f" COLLATE {column.collation}" if column.collation else ""
        using = read_as(written(name), column.type)
        retype = f"ALTER {name} TYPE {column.type.text}{collate} USING {using}"
        connection.execute(f"ALTER TABLE {qualified(NAME)} {retype}".encode())
    return removed


def _readable(task: CompareTask, columns: Sequence[str]) -> RowSource:
    """Return the rows with these columns alone, where no query may read the table. Raises what `plain` does."""
    rows = task.contents
    if not isinstance(rows, TableRows) or not rows.is_plain:
        return rows
    return plain(replace(rows, columns=tuple(columns), scratch=task.target_dsn), task.source)


def _copy_rows(rows: RowSource, columns: Sequence[str]) -> Iterator[bytes]:
    for batch in text_batches(rows) if isinstance(rows, TableRows) else rows.batches():
        yield copy_text(batch.select(columns).columns, batch.num_rows)


def _bare(column: Column) -> Column:
    """Return the column without what refuses a row or fills it."""
    default = column.default if column.generated else None
    return replace(column, nullable=True, default=default, missing=None, identity="")


@contextmanager
def _refusals(table: TableName) -> Iterator[None]:
    import psycopg

    try:
        yield
    except SourceFailed as error:
        raise unreadable_table("source", table, error) from None
    except UndecodableText:
        raise
    except UnreadableTable as error:  # as a load says it
        raise unreadable_table("source", table, error) from None
    except psycopg.Error as error:
        if (trouble := passing(error, "the target")) is not None:
            raise trouble from None
        raise TargetError(
            f"the target does not take the source's rows as `transform` gives them: {' '.join(str(error).split())}",
            code="TGT-180",
            table=table,
            hint="the function has to give what the columns' types take; the role needs the right TEMPORARY on the"
            " target's database",
        ) from None
