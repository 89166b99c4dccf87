"""Load one chunk of a table into its shadow table: rows that a COPY gives under an exported snapshot, or gave once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.loading import LoadedChunk, LoadTask
from airflow_ddlrepl.engines.postgres.connection.conditions import where
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.copy import blocks_of, copy_in, copy_out, feed, open_snapshot, reading
from airflow_ddlrepl.engines.postgres.connection.errors import errors, passing
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.connection.session_names import session_name
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING
from airflow_ddlrepl.engines.postgres.load.statistics import gather_statistics
from airflow_ddlrepl.engines.postgres.load.transformed_rows import Rows, transformed_rows
from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.trail.loads import read_chunk
from airflow_ddlrepl.trail.store import Trail

REFUSED = "TGT-120"

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection


def load_chunks(tasks: Sequence[LoadTask]) -> list[LoadedChunk]:
    """Load chunks of one refresh one after the other; a chunk that the target refuses stops no other.

    The rows and the chunk's mark are committed together: run twice, it loads once. Raises SourceError SRC-170 when the
    source can't be read, Unreachable or DiskFull when the target can't go on, and what `values` of a transformation
    raises.
    """
    found: list[LoadedChunk] = []
    while len(found) < len(tasks):
        found += _up_to_a_refusal(tasks[len(found) :])
    return found


def _up_to_a_refusal(tasks: Sequence[LoadTask]) -> list[LoadedChunk]:
    """Load over one pair of connections, which can't be used any more after a chunk that is refused."""
    first = tasks[0]
    name = session_name("refresh", first.chunk.partition("/")[0], first.token)
    with ExitStack() as stack:
        target = stack.enter_context(session(first.target_dsn, autocommit=False, application_name=name))
        place = nullcontext() if first.kept else session(first.source_dsn, autocommit=False, application_name=name)
        source = stack.enter_context(place)
        try:
            with _refusals(first):
                if source is not None and first.snapshot:
                    open_snapshot(source, first.snapshot)
                target.execute(SPELLING.encode())
                target.execute("SET synchronous_commit = off")
                target.commit()
            found: list[LoadedChunk] = []
            for task in tasks:
                found.append(_loaded(source, target, task))
                if found[-1].error is not None:
                    _discard(source, target)
                    break
            return found
        except BaseException:
            _discard(source, target)
            raise


def _discard(source: Connection[Any] | None, target: Connection[Any]) -> None:
    if source is not None:
        source.close()  # in the middle of a COPY nothing else ends it
    target.close()


def _loaded(source: Connection[Any] | None, target: Connection[Any], task: LoadTask) -> LoadedChunk:
    try:
        with _refusals(task):
            return _load(source, target, task)
    except TargetError as error:
        if error.code != REFUSED:
            raise
        return LoadedChunk(error=error)


@contextmanager
def _refusals(task: LoadTask) -> Iterator[None]:
    import psycopg

    try:
        with reading(task.table):
            yield
    except psycopg.Error as error:
        if (trouble := passing(error, "the target")) is not None:
            raise trouble from None
        raise TargetError(
            f"loading {task.shadow} failed: {' '.join(str(error).split())}",
            code=REFUSED,
            table=task.table,
            hint="the target's table is as it was; the next run starts this refresh over",
            retryable=True,
        ) from None


def _load(source: Connection[Any] | None, target: Connection[Any], task: LoadTask) -> LoadedChunk:
    mark = [_marks_of(target, task), task.chunk]
    try:
        target.execute("INSERT INTO ddlrepl.chunks VALUES (%s, %s, 0)", mark)
    except errors().UniqueViolation:
        target.rollback()
        row = target.execute("SELECT rows FROM ddlrepl.chunks WHERE token = %s AND chunk = %s", mark).fetchone()
        return LoadedChunk(int(row[0]) if row else 0)
    into = copy_in(task.shadow, [name for _, name in task.columns], binary=task.binary)
    count = feed(target, into, _blocks(source, task))
    for statement in task.after:
        target.execute(statement.encode())
    warning = gather_statistics(target, task.shadow) if task.after else ""
    reach("refresh.copied")
    target.execute("UPDATE ddlrepl.chunks SET rows = %s WHERE token = %s AND chunk = %s", [count, *mark])
    target.commit()
    reach("refresh.chunk")
    return LoadedChunk(count, warning)


def _blocks(source: Connection[Any] | None, task: LoadTask) -> Iterator[bytes]:
    if task.kept is not None:
        return read_chunk(Trail(task.kept.trail_url, task.kept.channel), task.kept.files)
    names = [name for name, _ in task.columns]
    if task.transform is not None:
        rows_of = Rows(task.beside or task.table, task.low_page, task.high_page, where(task.wanted), task.snapshot)
        return transformed_rows(task.source_dsn, rows_of, names, task.transform, task.table)
    assert source is not None
    rows = (task.table, names, task.low_page, task.high_page)
    return blocks_of(source, copy_out(*rows, binary=task.binary, wanted=where(task.wanted)))


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
