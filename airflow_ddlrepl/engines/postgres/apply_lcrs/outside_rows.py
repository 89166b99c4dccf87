"""This module counts the rows of a PostgreSQL table that no condition of subset rules is true for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_ddlrepl.engines.abilities.lcr_target import RowCondition
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING_HERE
from airflow_ddlrepl.engines.postgres.sync_capture.condition_sql import ConditionWriter
from airflow_ddlrepl.engines.postgres.sync_capture.value_sql import LETTERS, NotInSql
from airflow_ddlrepl.model.names import TableName

_KINDS = """
WITH RECURSIVE of(name, type) AS (
    SELECT a.attname::text, a.atttypid FROM pg_attribute a
    WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL SELECT of.name, t.typbasetype FROM of JOIN pg_type t ON t.oid = of.type AND t.typtype = 'd')
SELECT of.name, CASE
    WHEN t.oid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'numeric'::regtype, 'float4'::regtype,
        'float8'::regtype) THEN 'number'
    WHEN t.oid IN ('date'::regtype, 'timestamp'::regtype) THEN 'date'
    WHEN t.oid = 'timestamptz'::regtype THEN 'zoned date'
    WHEN t.oid = 'bytea'::regtype THEN 'raw'
    WHEN t.oid = 'bool'::regtype THEN 'boolean'
    ELSE 'text' END
FROM of JOIN pg_type t ON t.oid = of.type AND t.typtype <> 'd'
"""
"""The kind of values that conditions read of each column, as triggers of a synchronous capture have them."""

_LETTERS = (
    "SELECT min(collname) FROM pg_collation WHERE collname = ANY (%s) AND collnamespace = to_regnamespace('pg_catalog')"
)


def rows_outside(
    connection: Connection[Any], table: TableName, conditions: Sequence[Sequence[RowCondition]], source_database: str
) -> int | None:
    """Return how many rows of a table are inserts for which in no sequence all conditions are true.

    None: the server can't evaluate one of them, or the table lacks a column.
    """
    kinds = dict(connection.execute(_KINDS, [qualified(table)]).fetchall())
    wanted = {column for each in conditions for one in each for column in one.columns.values()}
    if not wanted <= kinds.keys():
        return None
    row = connection.execute(_LETTERS, [[*LETTERS]]).fetchone()
    writer = ConditionWriter(source_database, row[0] if row and row[0] else "")
    try:
        inside = [" AND ".join(_is_true(one, kinds, writer) for one in each) for each in conditions]
    except NotInSql:
        return None
    text = f"SELECT count(*) FROM {qualified(table)} t WHERE NOT (({') OR ('.join(inside)}))"
    with connection.transaction():
        connection.execute(SPELLING_HERE.encode())
        found = connection.execute(text.encode()).fetchone()
    return int(found[0]) if found else None


def _is_true(one: RowCondition, kinds: Mapping[str, str], writer: ConditionWriter) -> str:
    """Return SQL that says of a row of the table `t` whether a condition is true for its insert."""
    values = ", ".join(f"{literal(name)}, t.{quote(column)}::text" for name, column in one.columns.items())
    listed = ", ".join(f"{literal(name)}, {literal(kinds[column])}" for name, column in one.columns.items())
    given = (
        f"SELECT jsonb_build_object({values}) AS new_row, '{{}}'::jsonb AS old_row,"
        f" jsonb_build_object({listed}) AS kinds, 'INSERT'::text AS command, NULL::text AS tag,"
        f" {literal(one.about.schema)}::text AS object_owner, {literal(one.about.name)}::text AS object_name,"
        " clock_timestamp() AS captured_at"
    )
    return f"(SELECT ({writer.condition(one.condition)}) IS TRUE FROM ({given}) given)"
