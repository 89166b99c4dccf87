"""Compare two databases by checksums that the servers compute themselves, without our compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.model.names import TableName

COLUMNS = """
SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind = 'r' AND c.relnamespace = %s::regnamespace ORDER BY c.relname, a.attname
"""


@dataclass(frozen=True)
class TableChecksum:
    """A table's checksum covers all its rows; the columns with their types and the number of rows go with it."""

    columns: dict[str, str]
    rows: int
    checksum: str


@dataclass(frozen=True)
class DatabaseDiff:
    """A database diff is the result of comparing two databases.

    differences: one line per table that is missing or differs, in columns or in rows.
    """

    tables: int
    columns: int
    rows: int
    differences: tuple[str, ...]


def read_checksums(dsn: str, schema: str = "public") -> dict[str, TableChecksum]:
    """Return the checksum of every table by name. dsn: a libpq URL."""
    found: dict[str, TableChecksum] = {}
    with connect(dsn) as connection:
        for name, columns in _columns(connection, schema).items():
            counted = connection.execute(_checksum(TableName(schema, name), columns)).fetchone()
            found[name] = TableChecksum(columns, *(counted or (0, "")))
    return found


def compare(source: str, target: str, schema: str = "public") -> DatabaseDiff:
    """Compare every table of the source with the target. source, target: libpq URLs."""
    return diff_checksums(read_checksums(source, schema), read_checksums(target, schema))


def diff_checksums(ours: dict[str, TableChecksum], theirs: dict[str, TableChecksum]) -> DatabaseDiff:
    """Compare the expected tables (ours) with those that are there (theirs).

    Tables that only theirs has are ignored: a table that was dropped at the source stays at the target.
    """
    found: list[str] = []
    for name, mine in ours.items():
        other = theirs.get(name)
        if other is None or other.columns != mine.columns:
            found.append(f"{name}: columns differ: {_unlike(mine.columns, other.columns if other else None)}")
        elif other != mine:
            pairs = [(facts.rows, facts.checksum) for facts in (mine, other)]
            found.append(f"{name}: {pairs[0]} in the source, {pairs[1]} in the target")
    columns, rows = sum(len(facts.columns) for facts in ours.values()), sum(facts.rows for facts in ours.values())
    return DatabaseDiff(len(ours), columns, rows, tuple(found))


def _columns(connection: Any, schema: str) -> dict[str, dict[str, str]]:
    tables: dict[str, dict[str, str]] = {}
    for table, column, type_ in connection.execute(COLUMNS, [quote(schema)]):
        tables.setdefault(table, {})[column] = type_
    return tables


def _unlike(ours: dict[str, str], theirs: dict[str, str] | None) -> str:
    if theirs is None:
        return "the table is missing in the target"
    return ", ".join(
        f"{name} {ours.get(name, 'absent')} against {theirs.get(name, 'absent')}"
        for name in sorted({*ours, *theirs})
        if ours.get(name) != theirs.get(name)
    )


def _checksum(table: TableName, columns: dict[str, str]) -> bytes:
    """Return the query for a table's number of rows and the sum of a 64-bit hash of every row.

    Columns are in the order of their names; NULL differs from ''.
    """
    parts = ", ".join(f"{quote(name)}::text" for name in columns)
    row = f"jsonb_build_array({parts})::text" if len(columns) <= 100 else f"concat_ws({literal('|')}, {parts})"
    query = f"SELECT count(*), coalesce(sum(hashtextextended({row}, 0)::numeric), 0)::text FROM {qualified(table)}"
    return query.encode()
