"""Are two databases equal? Asked of the servers themselves, with nothing of ours in between but SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres.connect import connect
from airflow_ddlrepl.engines.postgres.names import literal, qualified, quote
from airflow_ddlrepl.model.names import TableName

COLUMNS = """
SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind = 'r' AND c.relnamespace = %s::regnamespace ORDER BY c.relname, a.attname
"""


@dataclass(frozen=True)
class Opinion:
    """differences: one line per table that is missing or differs, in columns or in rows."""

    tables: int
    columns: int
    rows: int
    differences: tuple[str, ...]


def compare(source: str, target: str, schema: str = "public") -> Opinion:
    """Every table of the source: its columns with their types, its number of rows, a checksum over all its rows.

    source, target: libpq URLs. Tables that only the target has are not looked at (a dropped table is kept there).
    """
    with connect(source) as here, connect(target) as there:
        ours, theirs = _columns(here, schema), _columns(there, schema)
        found: list[str] = []
        rows = 0
        for name, columns in ours.items():
            if theirs.get(name) != columns:
                found.append(f"{name}: columns differ: {_unlike(columns, theirs.get(name))}")
                continue
            query = _checksum(TableName(schema, name), columns)
            mine, other = here.execute(query).fetchone(), there.execute(query).fetchone()
            rows += mine[0] if mine else 0
            if mine != other:
                found.append(f"{name}: {mine} in the source, {other} in the target")
    return Opinion(len(ours), sum(len(columns) for columns in ours.values()), rows, tuple(found))


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
