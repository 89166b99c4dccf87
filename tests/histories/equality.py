"""Do a source and a target hold the same? Asked in SQL alone, with nothing of the product in between."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

TABLES = """
SELECT n.nspname::text, c.relname::text, array_agg(a.attname::text ORDER BY a.attname),
    array_agg(format_type(a.atttypid, a.atttypmod) ORDER BY a.attname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'ddlrepl')
  AND c.oid <> ALL (%s::oid[])
GROUP BY n.nspname, c.relname ORDER BY 1, 2
"""
PATIENCE = "SET lock_timeout = '50ms'"
WHOLE_NAMES = "SET search_path = pg_catalog"
"""Types and what refers to objects are told with their schemas."""
Name = tuple[str, str]
Column = tuple[str | None, str | None]


NO_COLUMN: tuple[Column, ...] = ((None, None),)
Called = Callable[[str], str | None]
ALL_ROWS: Mapping[Name, str] = {}


def _the_same(name: str) -> str | None:
    return name


class Locked(Exception):
    """An open transaction holds a table."""


_open: dict[str, psycopg.Connection[Any]] = {}


@contextmanager
def asking(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A transaction of its own, over a connection that is there until `hang_up`. What is not committed is undone."""
    if url not in _open:
        _open[url] = psycopg.connect(url, prepare_threshold=None)
    try:
        yield _open[url]
    finally:
        _open[url].rollback()


def hang_up() -> None:
    """Whatever `asking` has opened is closed."""
    while _open:
        _open.popitem()[1].close()


def difference(
    source: str,
    target: str,
    but: Collection[int] = (),
    called: Called = _the_same,
    wanted: Mapping[Name, str] = ALL_ROWS,
) -> str:
    """The first table of the source that the target has not, or has otherwise; "" when there is none but these.

    but: ids of tables. called: what a column is called at the target; None: not there.
    wanted: the rows of a table that the target is to have, as SQL; tables that are not in it have all. Raises Locked.
    """
    with asking(source) as here, asking(target) as there:
        here.execute(f"{PATIENCE}; {WHOLE_NAMES}")
        there.execute(WHOLE_NAMES)
        try:
            return _difference(here, there, but, called, wanted)
        except psycopg.errors.LockNotAvailable as error:
            raise Locked from error


def contents(
    url: str, but: Collection[int] = (), called: Called = _the_same, wanted: Mapping[Name, str] = ALL_ROWS
) -> dict[Name, tuple[Any, ...]]:
    """What a database holds, or a target that calls its columns so: each table's columns, rows, and their checksum.

    but, wanted: as of `difference`. Raises Locked.
    """
    with asking(url) as connection:
        connection.execute(f"{PATIENCE}; {WHOLE_NAMES}")
        try:
            tables = {name: _in_order(columns, called) for name, columns in _tables(connection, but).items()}
            sums = _checksums(connection, tables, wanted) if tables else {}
        except psycopg.errors.LockNotAvailable as error:
            raise Locked from error
    as_named = {name: tuple((c and called(c), of) for c, of in columns) for name, columns in tables.items()}
    return {name: (columns, *sums[name]) for name, columns in as_named.items()}


def _in_order(columns: tuple[Column, ...], called: Called) -> tuple[Column, ...]:
    """Those that the target has, by their names there."""
    there = {name: column for column in columns if column[0] and (name := called(column[0])) is not None}
    return tuple(there[name] for name in sorted(there)) or NO_COLUMN


def _difference(
    here: psycopg.Connection[Any],
    there: psycopg.Connection[Any],
    but: Collection[int],
    called: Called,
    wanted: Mapping[Name, str],
) -> str:
    ours, theirs = _tables(here, but), _tables(there)
    ours = {n: tuple(c for c in of if c[0] and called(c[0]) is not None) or NO_COLUMN for n, of in ours.items()}
    if not ours:
        return ""
    # What a statement that is not committed holds may have to wait, with columns that are called otherwise.
    names = sql.SQL(", ").join(sql.SQL("ONLY {}").format(sql.Identifier(*name)) for name in ours)
    here.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(names))
    as_named = {n: tuple((None if c is None else called(c), of) for c, of in columns) for n, columns in ours.items()}
    for name, columns in as_named.items():
        if sorted(theirs.get(name, ())) != sorted(columns):
            return f"{'.'.join(name)} has {columns}, at the target {theirs.get(name)}"
    mine, other = _checksums(here, ours, wanted), _checksums(there, as_named)
    for name in ours:
        if mine[name] != other[name]:
            return f"{'.'.join(name)}: rows and checksum {mine[name]}, at the target {other[name]}"
    return ""


def _tables(connection: psycopg.Connection[Any], but: Collection[int] = ()) -> dict[Name, tuple[Column, ...]]:
    found = connection.execute(TABLES, [list(but)]).fetchall()
    return {(schema, name): tuple(zip(columns, types, strict=True)) for schema, name, columns, types in found}


def _checksums(
    connection: psycopg.Connection[Any], tables: dict[Name, tuple[Column, ...]], wanted: Mapping[Name, str] = ALL_ROWS
) -> dict[Name, Any]:
    parts = [
        sql.SQL(
            "SELECT {}::text, {}::text, count(*), sum(hashtextextended(ROW({})::text, 0)::numeric)"
            " FROM ONLY {} WHERE {}"
        ).format(
            sql.Literal(name[0]),
            sql.Literal(name[1]),
            sql.SQL(", ").join(sql.Identifier(column) for column, _ in columns if column is not None),
            sql.Identifier(*name),
            sql.SQL(wanted.get(name, "true")),  # type: ignore[arg-type]
        )
        for name, columns in tables.items()
    ]
    rows = connection.execute(sql.SQL(" UNION ALL ").join(parts)).fetchall()
    return {(schema, name): (count, digest) for schema, name, count, digest in rows}
