"""This module reads rows of a table in a PostgreSQL database: the port `ports.rows.RowSource`.

It reads by COPY or as Arrow strings.

    with sharing_sessions():
        for rows in chunks:
            for block in rows.native(BINARY): ...  # all of one snapshot over one session
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from airflow_ddlrepl.engines.postgres.connection.conditions import where
from airflow_ddlrepl.engines.postgres.connection.connect import arrow_connection, session
from airflow_ddlrepl.engines.postgres.connection.copy import (
    LOCK_TIMEOUT,
    SourceFailed,
    blocks_of,
    copy_out,
    copy_table,
    open_snapshot,
    reading,
    select,
)
from airflow_ddlrepl.engines.postgres.connection.copy_text import read_copy_text
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote
from airflow_ddlrepl.engines.postgres.connection.settings import ROWS
from airflow_ddlrepl.engines.postgres.load.filtered_rows import filtered
from airflow_ddlrepl.engines.postgres.load.typed_rows import sent_as, typed
from airflow_ddlrepl.engines.postgres.load.undecodable_text import place_of_bad_text
from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import binary_safe
from airflow_ddlrepl.engines.postgres.types.as_written import written
from airflow_ddlrepl.engines.postgres.types.families import plain_name
from airflow_ddlrepl.engines.postgres.types.underlying import types_below
from airflow_ddlrepl.engines.source_catalog import RowSelection
from airflow_ddlrepl.errors import UndecodableText, UnreadableTable
from airflow_ddlrepl.mapping.values import Transform, batches, values
from airflow_ddlrepl.model.key_ranges import KeyRanges
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.ports.rows import TypedRows

PAGE_BYTES = 8192
BINARY, TEXT = "postgresql copy binary", "postgresql copy text"
"""These codecs are COPY's formats."""

NAME = "ddlrepl refresh"


@dataclass(frozen=True, slots=True)
class TableRows:
    """Table rows are those in a range of pages of a table: low_page <= page < high_page (None: to the end).

    place: the table there. table: what the rows are of, for errors. columns: of `place`, in this order. snapshot:
    exported; empty: each reading has its own. is_binary: do its types mean the same in every server's binary format?
    condition: true for the rows; None: all. transform: what computes values of them. ranges: of their key; None: all.
    is_plain: no query may read the table, only a COPY of all its rows. types: of the columns, as SQL, for a condition
    that another server has to answer then. scratch: the location of that server. chosen: SQL that is true for the
    rows, besides the condition; empty: all; a table that no query may read has none.
    """

    dsn: str = field(repr=False)
    place: TableName
    table: TableName
    columns: tuple[str, ...]
    size: int = 0
    snapshot: str = ""
    low_page: int = 0
    high_page: int | None = None
    is_binary: bool = False
    condition: Part | None = None
    transform: Transform | None = None
    ranges: KeyRanges | None = None
    is_plain: bool = False
    types: tuple[tuple[str, str], ...] = ()
    scratch: str = field(default="", repr=False)
    chosen: str = field(default="", repr=False)

    @property
    def wanted(self) -> str:
        """Return SQL that is true for the rows; empty: all."""
        return " AND ".join(filter(None, (where(self.condition), self.chosen)))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as Arrow strings; no more than some thousand of them are in memory at a time."""
        with reading(self.table):
            yield from text_batches(self)

    def typed(self, schema: pa.Schema) -> Iterator[TypedRows]:
        """Yield the rows as values of the types of a schema."""
        with reading(self.table):
            yield from typed_batches(self, schema)

    def native(self, codec: str) -> Iterator[bytes] | None:
        """Yield the bytes of a COPY in this format; None for another codec, and for values that a function computes."""
        if self.transform is not None or codec not in (BINARY, TEXT) or (codec == BINARY and not self.is_binary):
            return None
        if codec == BINARY and self.is_plain and (self.condition is not None or not self.columns):
            return None
        return self.copied(binary=codec == BINARY)

    def copied(self, *, binary: bool) -> Generator[bytes, None, int]:
        """Yield the bytes of a COPY; return how many rows that were."""
        if self.is_plain:
            return (yield from _plain(self, self.columns, binary=binary))
        pages = (self.low_page, self.high_page)
        out = copy_out(self.place, self.columns, *pages, binary=binary, wanted=self.wanted, ranges=self.ranges)
        return (yield from _copied(self, out))


def _copied(rows: TableRows, out: str) -> Generator[bytes, None, int]:
    """Yield what a COPY in the session of the rows writes; return how many rows that were."""
    with _naming_bad_text(rows), reading(rows.table), _session(rows) as connection:
        try:
            return (yield from blocks_of(connection, out))
        except BaseException:
            connection.close()  # in the middle of a COPY nothing else ends it
            raise


@contextmanager
def _naming_bad_text(rows: TableRows) -> Iterator[None]:
    """Say in an UndecodableText which value it is."""
    try:
        yield
    except UndecodableText as error:
        found = ""
        with suppress(SourceFailed), _snapshot_session(replace(rows, snapshot="")) as connection:
            found = place_of_bad_text(connection, rows.place, rows.columns)
            connection.close()  # maybe in the middle of a COPY, and with another encoding
        if not found:
            raise
        raise error.replaced(message=f"{error.message}; it is {found}") from None


def _plain(rows: TableRows, columns: Sequence[str], *, binary: bool) -> Generator[bytes, None, int]:
    """Yield the rows of a table that no query may read; another server tells which of them meet the condition."""
    if rows.condition is None and (columns or not rows.types):
        return (yield from _copied(rows, copy_table(rows.place, columns, binary=binary)))
    if rows.condition is None:
        lines = _copied(rows, copy_table(rows.place, [rows.types[0][0]], binary=False))
        yield from (b"\n" * block.count(b"\n") for block in lines)
        return 0
    needed = list(dict.fromkeys((*columns, *rows.condition.names())))
    blocks = _copied(rows, copy_table(rows.place, needed, binary=False))
    return (yield from filtered(rows.scratch, blocks, needed, columns, rows.condition, dict(rows.types)))


def rows_of(dsn: str, selection: RowSelection) -> TableRows:
    """Return the selected rows of a whole table, under no snapshot in particular."""
    table = selection.table
    return TableRows(
        dsn,
        place=table.name,
        table=table.name,
        columns=selection.columns,
        is_binary=binary_safe(table),
        condition=selection.condition,
        transform=selection.transform,
        types=tuple(types_below(table.columns, table.types).items()),
    )


def needs_query(rows: TableRows, table: Table) -> bool:
    """Is a query better, or needed, to read these rows? A COPY has no condition and no generated column."""
    is_bare = bool(table.columns) and not rows.columns
    return rows.condition is not None or is_bare or has_computed(rows, table)


def has_computed(rows: TableRows, table: Table) -> bool:
    """Is a generated column among those that are read, or that the condition mentions?"""
    wanted = {*rows.columns, *(rows.condition.names() if rows.condition else ())}
    return any(column.generated and column.name in wanted for column in table.columns)


def plain(rows: TableRows, table: Table) -> TableRows:
    """Return the rows of a whole table as a COPY reads them, which plans no query over it.

    Raises UnreadableTable SRC-174 for columns that a COPY does not read: the server computes them.
    """
    wanted = {*rows.columns, *(rows.condition.names() if rows.condition else ())}
    if computed := [column.name for column in table.columns if column.generated and column.name in wanted]:
        raise UnreadableTable(
            f"the generated column {computed[0]} can't be read: a query would run functions of the table's owner"
            ", which its indexes or statistics call",
            code="SRC-174",
            table=table.name,
            hint="look at the functions in its index expressions and statistics: let a superuser own them, or drop the"
            " index, or leave the column out with `column_properties`; an older helper schema needs `ddlrepl activate`",
        )
    return replace(rows, is_plain=True)


def chunks(rows: TableRows, size: int, most: int, snapshot: str = "") -> list[TableRows]:
    """Split a whole table at its pages into chunks of about equal size, as `snapshot` shows them.

    size: of the table; most: of a chunk, about; both in bytes.
    """
    edges = page_ranges(-(-size // PAGE_BYTES), max(1, -(-most // PAGE_BYTES)))
    share = size // len(edges)
    return [replace(rows, snapshot=snapshot, low_page=low, high_page=high, size=share) for low, high in edges]


def page_ranges(pages: int, most: int) -> list[tuple[int, int | None]]:
    """Return ranges (low <= page < high; None: to the end) that hold every page once, of about `most` pages each."""
    cuts = max(1, -(-pages // most))
    edges = [pages * i // cuts for i in range(cuts)]
    return list(zip(edges, (*edges[1:], None), strict=True))


_shared: ContextVar[dict[tuple[str, str], Connection[Any]] | None] = ContextVar("shared", default=None)


@contextmanager
def sharing_sessions() -> Iterator[None]:
    """Share, inside the `with`, one session for each snapshot among the tables that are copied one after the other."""
    found: dict[tuple[str, str], Connection[Any]] = {}
    token = _shared.set(found)
    try:
        yield
    finally:
        _shared.reset(token)
        for connection in found.values():
            _end(connection)


def _end(connection: Connection[Any]) -> None:
    """Close a session, which the pool may use again; one in the middle of a COPY is closed for good."""
    import psycopg

    if connection.info.transaction_status is psycopg.pq.TransactionStatus.INTRANS:
        with suppress(psycopg.Error):
            connection.rollback()
    connection.close()


@contextmanager
def _session(rows: TableRows) -> Iterator[Connection[Any]]:
    shared, key = _shared.get(), (rows.dsn, rows.snapshot)
    if shared is None:
        with _snapshot_session(rows) as connection:
            yield connection
        return
    if key not in shared or shared[key].closed:
        shared[key] = _snapshot_session(rows)
    yield shared[key]


def _snapshot_session(rows: TableRows) -> Connection[Any]:
    connection = session(rows.dsn, autocommit=False, application_name=NAME)
    try:
        open_snapshot(connection, rows.snapshot)
    except BaseException:
        connection.close()
        raise
    return connection


def text_batches(rows: TableRows) -> Iterator[pa.RecordBatch]:
    """Yield the rows as Arrow strings. Raises SourceFailed where they can't be read, and what `values` raises."""
    transform = rows.transform
    read = list(dict.fromkeys((*rows.columns, *(transform.reads if transform else ()))))
    if rows.is_plain:
        for batch in read_copy_text(_plain(rows, read, binary=False), read):
            if not read:  # Arrow cuts what has no columns into parts of any size
                yield batch
                continue
            for part in batches(pa.Table.from_batches([batch])):
                yield _transformed(rows, part).select(list(rows.columns))
        return
    texts = [f"{written(quote(name))} AS {quote(name)}" for name in read] or ["NULL::text"]
    for batch in _queried(rows, texts):
        for part in batches(pa.Table.from_batches([batch])):
            yield _transformed(rows, part).select(list(rows.columns))


def typed_batches(rows: TableRows, schema: pa.Schema) -> Iterator[TypedRows]:
    """Yield the rows as values of the types of a schema.

    The server sends what Arrow's driver reads as it is, and all else in its types' send formats; texts are only those
    of types that have no such format here, and those that a function computes. Raises what `text_batches` raises.
    """
    types = {name: plain_name(text, ()) for name, text in rows.types}
    if rows.transform is not None or rows.is_plain or not rows.columns:
        yield from (typed(batch, types, schema, dict.fromkeys(types, "text")) for batch in text_batches(rows))
        return
    sent = [sent_as(field, types[field.name]) for field in schema]
    encodings = {name: encoding for name, (encoding, _) in zip(rows.columns, sent, strict=True)}
    for batch in _queried(rows, [f"{sql} AS {quote(name)}" for name, (_, sql) in zip(rows.columns, sent, strict=True)]):
        yield typed(batch, types, schema, encodings)


def _queried(rows: TableRows, expressions: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield what a query over the rows gives."""
    connection = arrow_connection(rows.dsn)
    try:
        with connection.cursor() as cursor:
            _begin(connection, cursor, rows.snapshot)
            cursor.execute(select(rows.place, expressions, rows.low_page, rows.high_page, rows.wanted, rows.ranges))
            yield from cursor.fetch_record_batch()
    except (connection.Error, pa.ArrowException) as error:
        raise SourceFailed(" ".join(str(error).split())) from error
    finally:
        connection.close()


def _transformed(rows: TableRows, part: pa.RecordBatch) -> pa.RecordBatch:
    if rows.transform is None:
        return part
    computed = values(rows.transform, pa.Table.from_batches([part]), rows.table)
    return pa.RecordBatch.from_pydict(
        {name: computed[name].combine_chunks() if name in computed else part[name] for name in part.schema.names}
    )


def _begin(connection: Any, cursor: Any, snapshot: str) -> None:
    """Begin a transaction in which every value is written alike everywhere, under a snapshot if there is one."""
    settings = {**ROWS, "application_name": NAME, "lock_timeout": LOCK_TIMEOUT}
    for name, value in settings.items():
        cursor.execute(f"SET {name} = {literal(value)}")
    connection.adbc_connection.set_autocommit(False)
    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
    if snapshot:
        cursor.execute(f"SET TRANSACTION SNAPSHOT {literal(snapshot)}")
