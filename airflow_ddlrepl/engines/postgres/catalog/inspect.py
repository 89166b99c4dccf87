"""This module reads shapes of tables from the catalog as values: the truth about a shape, whatever DDL text says."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.postgres.catalog.raw_texts import Undecodable, is_raw
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.settings import SHAPES
from airflow_ddlrepl.engines.postgres.pgoutput.xid_snapshot import XidSnapshot
from airflow_ddlrepl.engines.source_catalog import Catalog
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide

FOLDER = Path(__file__).parent


def _with_type_texts(sql: str) -> str:
    """Replace each `/*type_text(type, element, schema, typmod)*/` by SQL for the type as DDL spells it.

    It is what the transaction sees; format_type alone returns what a user's type is called now. `/*type_name(type)*/`
    becomes SQL for its name alone.
    """
    text = (FOLDER / "type_text.sql").read_text().strip()
    names = ("type", "element", "schema", "typmod")
    sql = re.sub(
        r"/\*type_text\((\w+), (\w+), (\w+), (.+)\)\*/",
        lambda found: text.format(**dict(zip(names, found.groups(), strict=True))),
        sql,
    )
    name = (FOLDER / "type_name.sql").read_text().strip()
    return re.sub(r"/\*type_name\((\w+)\)\*/", lambda found: name.format(type=found.group(1)), sql)


SHAPE_SQL = _with_type_texts((FOLDER / "table_shape.sql").read_text())


def _body() -> str:
    """Return the body of a function in PL/pgSQL with a table's oid as $1: it gives the value of SHAPE_SQL.

    Most tables have no user's types: what looks for them is planned where a table has.
    """
    before, rest = SHAPE_SQL.split("/*types*/")
    types, after = rest.split("/*end of types*/")
    return f"""
DECLARE
    shape jsonb := ({before}{after});
BEGIN
    IF jsonb_path_exists(shape, '$.columns[*].type.oid ? (@ >= 16384)') THEN
        RETURN shape || (SELECT jsonb_build_object({types.rstrip().rstrip(",")}) FROM pg_class c WHERE c.oid = $1);
    END IF;
    RETURN shape || '{{"types": []}}';
END
"""


SHAPE_BODY = _body()
VERSION_SQL = (FOLDER / "catalog_version.sql").read_text()

_SPELLED = hashlib.sha256(f"{SHAPE_SQL}{SHAPES}".encode()).hexdigest()[:16]

_LIST_SQL = """
SELECT c.oid, n.nspname, c.relname
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
  AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'ddlrepl')
  AND NOT EXISTS (
      SELECT FROM pg_catalog.pg_depend d
      WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"
"""
_SHAPES_SQL = (
    "SELECT (" + SHAPE_SQL.replace("$1", "wanted.id") + ") FROM pg_catalog.unnest(%s::pg_catalog.oid[]) WITH ORDINALITY"
    " AS wanted(id, place) ORDER BY wanted.place"
)

_DESCENDANTS_SQL = """
WITH RECURSIVE tree(oid) AS (
    SELECT unnest(%s::oid[]) UNION
    SELECT i.inhrelid FROM tree JOIN pg_inherits i ON i.inhparent = tree.oid
    JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition)
SELECT t.oid::bigint, n.nspname, c.relname FROM tree t
JOIN pg_class c ON c.oid = t.oid JOIN pg_namespace n ON n.oid = c.relnamespace
"""

LOCKED_SQL = """
SELECT DISTINCT l.relation FROM pg_catalog.pg_locks l
WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
  AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
"""


def inspect(
    connection: Connection[Any], ids: Sequence[int] | None = None, patterns: Sequence[str] = ("*.*",)
) -> list[Table]:
    """Return the shapes of the tables with these oids, in their order; else of all that match a pattern, by name.

    patterns: like `schema.table`.
    Ids that are gone are left out, so are temporary tables, tables that belong to an extension, and shapes with bytes
    that are no UTF-8.
    """
    wanted = list(ids) if ids is not None else [i for i, _ in listed(connection, Scope(tuple(patterns)))]
    shapes = _shapes(connection, wanted).values()
    return [Table.from_json(shape) for shape in shapes if shape is not None and not isinstance(shape, Undecodable)]


def undecodable(connection: Connection[Any], ids: Sequence[int]) -> set[int]:
    """Return those of these tables whose shapes have bytes that are no UTF-8, with the partitions of such."""
    bad = [i for i, shape in _shapes(connection, ids).items() if isinstance(shape, Undecodable)]
    return set(with_partitions(connection, bad)) if bad else set()


def _shapes(connection: Connection[Any], ids: Sequence[int]) -> dict[int, Any]:
    """Return the shapes of tables as JSON by id; None: such a table is not there."""
    if not ids:
        return {}
    with spelling(connection):
        rows = connection.execute(_SHAPES_SQL.encode(), [list(ids)], prepare=True).fetchall()
    return {i: shape for i, (shape,) in zip(ids, rows, strict=True)}


def inspect_unlocked(connection: Connection[Any], expected: str = "") -> Catalog:
    """Return every table's shape but of those that an open transaction is altering, unless the version is as expected.

    Newer servers lock a table to print its expressions: waiting for the altering transaction could take for ever,
    so a table that is locked now is left out. Shorter than deadlock_timeout, so that no user's statement is the victim.
    A table whose shape can't be decoded is among the locked ones: nothing is known of it either.
    """
    from psycopg.errors import LockNotAvailable

    while True:
        try:
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                connection.execute("SET LOCAL lock_timeout = '200ms'")
                seen = snapshot(connection)
                version = _version(connection)
                if version == expected:
                    return Catalog(version, None, frozenset(), seen)
                locked = frozenset(int(i) for (i,) in connection.execute(LOCKED_SQL))
                ids = [i for i, _ in listed(connection, Scope(("*.*",))) if i not in locked]
                unread = undecodable(connection, ids) if is_raw(connection) else set()
                shapes = inspect(connection, [i for i in ids if i not in unread])
                return Catalog(version, shapes, locked | unread, seen)
        except LockNotAvailable:
            continue


def catalog_now(connection: Connection[Any]) -> Catalog:
    """Return the catalog's version at this moment, and what the moment has seen; no shapes are read."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        seen = snapshot(connection)
        return Catalog(_version(connection), None, frozenset(), seen)


def _version(connection: Connection[Any]) -> str:
    row = connection.execute(VERSION_SQL.encode()).fetchone()
    assert row is not None
    return f"{row[0]} {_SPELLED}"


def listed(connection: Connection[Any], scope: Scope) -> list[tuple[int, TableName]]:
    """Return ids and names of the tables that match a scope, ordered by name."""
    rows = connection.execute(_LIST_SQL).fetchall()
    names = [(int(i), TableName(schema, name)) for i, schema, name in rows]
    client = Client(scope)
    return [(i, name) for i, name in names if decide(client, name, ChangeKind.TABLE).is_taken]


def with_partitions(connection: Connection[Any], ids: Iterable[int]) -> dict[int, TableName]:
    """Return those of these tables that exist, and the partitions of the partitioned ones, by id."""
    rows = connection.execute(_DESCENDANTS_SQL, [list(ids)]).fetchall()
    return {int(i): TableName(schema, name) for i, schema, name in rows}


def snapshot(connection: Connection[Any]) -> XidSnapshot:
    """Return which transactions the present snapshot of this connection has seen.

    In a REPEATABLE READ transaction that is the transaction's snapshot; otherwise only this statement's.
    `low` is 0: what lies in the snapshot is decided by transaction ids alone, because a commit becomes
    visible some time after its record is in the log.
    """
    row = connection.execute(
        "SELECT pg_catalog.pg_snapshot_xmin(s)::text, pg_catalog.pg_snapshot_xmax(s)::text,"
        " ARRAY(SELECT pg_catalog.pg_snapshot_xip(s)::text), pg_catalog.pg_current_wal_insert_lsn()::text"
        " FROM pg_catalog.pg_current_snapshot() s"
    ).fetchone()
    assert row is not None
    xmin, xmax, running, high = row
    return XidSnapshot(int(xmin), int(xmax), frozenset(map(int, running)), Position(0), Position.parse(high))


@contextmanager
def spelling(connection: Connection[Any]) -> Iterator[None]:
    """Set what decides how expressions and values are written as text, so that it is always alike.

    Restore it afterwards.
    """
    names = list(SHAPES)
    with connection.transaction():
        before = connection.execute(
            "SELECT pg_catalog.current_setting(n) FROM pg_catalog.unnest(%s::text[]) n", [names]
        ).fetchall()
        _set(connection, SHAPES)
        yield
        _set(connection, {name: value for name, (value,) in zip(names, before, strict=True)})


def _set(connection: Connection[Any], settings: Mapping[str, str]) -> None:
    connection.execute(
        "SELECT pg_catalog.set_config(n, v, true) FROM ROWS FROM"
        " (pg_catalog.unnest(%s::text[]), pg_catalog.unnest(%s::text[])) AS s(n, v)",
        [list(settings), list(settings.values())],
    )
