"""This module loads one chunk of a table into its shadow table.

The rows come from a COPY under an exported snapshot, or from the trail, where one has put them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from airflow_ddlrepl.engines.loading import LoadedChunk, LoadTask
from airflow_ddlrepl.engines.postgres.catalog.statistics import gather_statistics
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.copy import copy_in, feed
from airflow_ddlrepl.engines.postgres.connection.copy_text import copy_text
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors, passing
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING
from airflow_ddlrepl.engines.postgres.load.table_rows import BINARY, TEXT, TableRows, sharing_sessions
from airflow_ddlrepl.engines.postgres.sessions.session_names import NAME_SESSION, session_name
from airflow_ddlrepl.engines.postgres.sessions.session_state import STATE, changes, state_of
from airflow_ddlrepl.engines.postgres.target.lost_session import surviving
from airflow_ddlrepl.errors import ChunkRefused, FunctionFailed, SessionEnded, UnreadableTable
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.rows import RowSource


def load_chunks(tasks: Sequence[LoadTask]) -> list[LoadedChunk]:
    """Load chunks of one refresh one after the other; a chunk that the target refuses does not stop the others.

    Neither does one that can't be read, or whose function (`transform`) fails. The rows and the chunk's mark are
    committed together: run twice, it loads once.
    Raises SourceError SRC-170 when the source is gone, Unreachable or DiskFull when the target can't go on,.
    A chunk whose rows end the session twice is refused, too.
    """
    found: list[LoadedChunk] = []
    while len(found) < len(tasks):
        left = tasks[len(found) :]
        try:
            found += surviving(partial(_up_to_a_refusal, left), left[0].target_dsn)
        except SessionEnded as ended:
            place = next(i for i, task in enumerate(left) if str(task.table) == ended.table)
            before = _up_to_a_refusal(left[:place]) if place else []  # they are loaded: their marks say so
            found += before if len(before) < place else [*before, LoadedChunk(error=ended)]
    return found


def _up_to_a_refusal(tasks: Sequence[LoadTask]) -> list[LoadedChunk]:
    """Load chunks over one session, up to one that is refused: after that the session can't be used any more."""
    first = tasks[0]
    name = session_name("refresh", first.chunk.partition("/")[0], first.token)
    with session(first.target_dsn, autocommit=False, application_name=name) as target, sharing_sessions():
        try:
            with _refusals(first):
                target.execute(SPELLING.encode())
                target.execute("SET synchronous_commit = off")
                state = state_of(target)
                target.commit()
            found: list[LoadedChunk] = []
            for task in tasks:
                found.append(_loaded(target, task, state))
                if found[-1].error is not None:
                    target.close()
                    break
            return found
        except BaseException:
            target.close()  # in the middle of a COPY nothing else ends it
            raise


def _loaded(target: Connection[Any], task: LoadTask, state: Sequence[str]) -> LoadedChunk:
    try:
        with _refusals(task):
            return _load(target, task, state)
    except (UnreadableTable, FunctionFailed, ChunkRefused) as error:
        return LoadedChunk(error=error)


@contextmanager
def _refusals(task: LoadTask) -> Iterator[None]:
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        if (trouble := passing(error, "the target")) is not None:
            raise trouble.about(table=task.table) from None
        raise ChunkRefused(
            f"loading {task.shadow} failed: {' '.join(str(error).split())}",
            code="TGT-120",
            table=task.table,
            hint=f"the target's table is as it was; the next run starts this refresh over{_remedy(error)}",
            retryable=True,
        ) from None


def _remedy(error: Any) -> str:
    """Return what has to be done before the refresh can end; empty where it may by itself."""
    state = error.sqlstate or ""
    if state.startswith("23"):
        return ". Drop the constraint at the target that the rows break, of the table's domain for example"
    if state.startswith(("22", "42804")):
        return (
            ". Where a type of the target differs from the source's of that name, rename or drop it there; else leave"
            " the column out (`column_properties`)"
        )
    return ""


def _load(target: Connection[Any], task: LoadTask, state: Sequence[str]) -> LoadedChunk:
    """Load a chunk and commit it. state: the session's settings, which the rows must not have changed."""
    mark = [_marks_of(target, task), task.chunk]
    try:
        target.execute(f"INSERT INTO ddlrepl.chunks VALUES (%s, %s, 0) RETURNING {NAME_SESSION}", mark)
    except errors().UniqueViolation:
        target.rollback()
        row = target.execute("SELECT rows FROM ddlrepl.chunks WHERE token = %s AND chunk = %s", mark).fetchone()
        return LoadedChunk(int(row[0]) if row else 0)
    count = _copy(target, task)
    warning = finish(target, task.after, task.shadow) if task.after else ""
    reach("refresh.copied")
    loaded = f"UPDATE ddlrepl.chunks SET rows = %s WHERE token = %s AND chunk = %s RETURNING {STATE}"
    now = target.execute(loaded.encode(), [count, *mark]).fetchone()
    if now is not None and (found := changes(state, now[0])):
        raise ChunkRefused(
            f"loading the rows changes the settings of the session: {found}",
            code="TGT-120",
            table=task.table,
            hint="drop the function of the target that sets them",
        )
    target.commit()
    reach("refresh.chunk")
    return LoadedChunk(count, warning)


def finish(target: Connection[Any], statements: Sequence[str], shadow: TableName) -> str:
    """Run the statements that a loaded shadow table still needs, and gather its statistics; return the warnings."""
    told: list[str] = []
    for statement in statements:
        found = target.execute(statement.encode())
        told += [str(row[0]) for row in (found.fetchall() if found.description else ())]
    return "; ".join(filter(None, (*told, gather_statistics(target, shadow))))


def _copy(target: Connection[Any], task: LoadTask) -> int:
    """Copy the rows in the first format that they come in."""
    rows = replace(task.rows, scratch=task.target_dsn) if isinstance(task.rows, TableRows) else task.rows
    binary = rows.native(BINARY) if task.is_alike else None
    blocks = binary or rows.native(TEXT) or _as_text(rows)
    return feed(target, copy_in(task.shadow, task.columns, binary=binary is not None), blocks)


def _as_text(rows: RowSource) -> Iterator[bytes]:
    return (copy_text(batch.columns, batch.num_rows) for batch in rows.batches())


def _marks_of(target: Connection[Any], task: LoadTask) -> str:
    """Return the token of the marks of one shadow table.

    One made again under the same name starts without any.
    """
    row = target.execute("SELECT %s::regclass::oid::text", [qualified(task.shadow)]).fetchone()
    assert row is not None
    return f"{task.token}/{row[0]}"


def forget_marks(connection: Connection[Any]) -> None:
    """Remove the marks of shadow tables that are gone, or that have become tables."""
    connection.execute(
        "DELETE FROM ddlrepl.chunks WHERE NOT EXISTS (SELECT FROM pg_class c"
        " WHERE c.oid::text = split_part(token, '/', 2) AND c.relnamespace = 'ddlrepl'::regnamespace)"
    )
