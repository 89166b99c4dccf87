"""Are two databases equal? Asked of the servers themselves, with nothing of ours in between but SQL."""

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
class Facts:
    """One table: its columns with their types, its rows and a checksum over all of them."""

    columns: dict[str, str]
    rows: int
    checksum: str


@dataclass(frozen=True)
class Opinion:
    """differences: one line per table that is missing or differs, in columns or in rows."""

    tables: int
    columns: int
    rows: int
    differences: tuple[str, ...]


def look(dsn: str, schema: str = "public") -> dict[str, Facts]:
    """Every table by name, as the server itself tells it. dsn: a libpq URL."""
    found: dict[str, Facts] = {}
    with connect(dsn) as connection:
        for name, columns in _columns(connection, schema).items():
            counted = connection.execute(_checksum(TableName(schema, name), columns)).fetchone()
            found[name] = Facts(columns, *(counted or (0, "")))
    return found


def compare(source: str, target: str, schema: str = "public") -> Opinion:
    """Every table of the source. source, target: libpq URLs."""
    return judge(look(source, schema), look(target, schema))


def judge(ours: dict[str, Facts], theirs: dict[str, Facts]) -> Opinion:
    """Ours is what has to be there. Tables that only they have are not judged (a dropped table is kept there)."""
    found: list[str] = []
    for name, mine in ours.items():
        other = theirs.get(name)
        if other is None or other.columns != mine.columns:
            found.append(f"{name}: columns differ: {_unlike(mine.columns, other.columns if other else None)}")
        elif other != mine:
            pairs = [(facts.rows, facts.checksum) for facts in (mine, other)]
            found.append(f"{name}: {pairs[0]} in the source, {pairs[1]} in the target")
    columns, rows = sum(len(facts.columns) for facts in ours.values()), sum(facts.rows for facts in ours.values())
    return Opinion(len(ours), columns, rows, tuple(found))


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
    """Rows, and the sum of a 64-bit hash of every row; every column by name, NULL told from ''."""
    parts = ", ".join(f"{quote(name)}::text" for name in columns)
    row = f"jsonb_build_array({parts})::text" if len(columns) <= 100 else f"concat_ws({literal('|')}, {parts})"
    query = f"SELECT count(*), coalesce(sum(hashtextextended({row}, 0)::numeric), 0)::text FROM {qualified(table)}"
    return query.encode()
