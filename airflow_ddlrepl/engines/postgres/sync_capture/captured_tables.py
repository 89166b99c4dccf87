"""This module reads what captures the rows of tables by triggers now, and changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from airflow_ddlrepl.capture.captured_table import CapturedPart, CapturedTable
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.sync_capture.trigger_function import CaptureNames
from airflow_ddlrepl.engines.postgres.sync_capture.triggers import IS_RIGHT, LOCK_TIMEOUT
from airflow_ddlrepl.model.names import TableName

_SQL = Path(__file__).with_name("captured_tables.sql").read_text().replace("/*is_right*/", IS_RIGHT)
_ELSEWHERE = """
SELECT c.oid::bigint, n.nspname || '.' || c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ANY (%s::bigint[]::oid[])
"""


class _Row(NamedTuple):
    """A row of the query: a part of a table. clones: versions that its trigger has had since the part came."""

    schema: str
    table: str
    table_id: int
    name: Sequence[tuple[str, str]]
    function: str
    part_id: int
    part: str
    is_attached: bool
    is_new_file: bool
    rows: str
    truncation: str
    is_right: bool
    is_single: bool
    clones: Sequence[str]


def captured_tables(
    connection: Connection[Any],
    names: CaptureNames,
    tables: Sequence[TableName],
    known: Collection[CapturedTable],
) -> dict[TableName, CapturedTable]:
    """Return the tables that are there, as the source has their triggers now. known: what an earlier look has found."""
    asked = {
        "function": names.function,
        "schemas": [one.schema for one in tables],
        "tables": [one.name for one in tables],
    }
    parts_known = {one.id: one.parts for one in known}
    found: dict[TableName, CapturedTable] = {}
    for row in map(_Row._make, connection.execute(_SQL, asked).fetchall()):
        earlier = parts_known.get(row.table_id, {})
        part = CapturedPart(
            row.part, row.rows, row.truncation, _problem(row), _arrival(connection, row, earlier), tuple(row.clones)
        )
        name = TableName(row.schema, row.table)
        before = found.get(name)
        versions = tuple((version, rest) for version, rest in row.name)
        parts = {**(before.parts if before else {}), row.part_id: part}
        found[name] = CapturedTable(row.table_id, versions, row.function, parts)
    return {name: _with_elsewhere(connection, one, parts_known.get(one.id, {})) for name, one in found.items()}


def _problem(row: _Row) -> str:
    if not row.rows:
        return f"it has no trigger of ours on {row.part}"
    if not row.is_right:
        return f"its trigger on {row.part} is switched off, or another one"
    return "" if row.is_single else f"its trigger on {row.part} was made twice"


def _arrival(connection: Connection[Any], row: _Row, known: Collection[int]) -> str:
    """Return how rows of a partition came or went before it had triggers, in words."""
    if row.part_id in known or row.part_id == row.table_id:
        return ""
    if row.is_attached and _has_rows(connection, row.part_id):
        return f"partition {row.part} was attached with rows"
    is_emptied = row.is_new_file and not row.truncation
    return f"partition {row.part} was emptied or written again before it had a trigger for that" if is_emptied else ""


def _has_rows(connection: Connection[Any], table_id: int) -> bool:
    """Return whether a table may have rows. It is not read: that could run its owner's functions."""
    try:
        with connection.transaction():
            connection.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
            row = connection.execute("SELECT pg_relation_size(%s::bigint::oid)", [table_id]).fetchone()
    except errors().LockNotAvailable:
        return True
    return row is not None and bool(row[0])


def _with_elsewhere(connection: Connection[Any], table: CapturedTable, known: Collection[int]) -> CapturedTable:
    gone = [part for part in known if part not in table.parts]
    if not gone:
        return table
    rows = connection.execute(_ELSEWHERE, [gone]).fetchall()
    return CapturedTable(table.id, table.name, table.function, table.parts, tuple(name for _, name in rows))
