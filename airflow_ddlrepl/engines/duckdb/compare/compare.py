"""This module compares tables of a DuckDB file with their sources: every column of every row, as values held there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_ddlrepl.compare.report import TableReport
from airflow_ddlrepl.engines.comparing import CompareTask
from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.engines.duckdb.connection.tables_there import columns_there
from airflow_ddlrepl.engines.duckdb.types.physical import physical
from airflow_ddlrepl.engines.duckdb.types.type_system import DUCK_TYPES
from airflow_ddlrepl.engines.duckdb_sql.comparison import Differences, missing_table, structure
from airflow_ddlrepl.engines.duckdb_sql.present_rows import present_rows
from airflow_ddlrepl.engines.duckdb_sql.quoting import qualified, quote
from airflow_ddlrepl.engines.duckdb_sql.source_rows import SOURCE, SourceRows, key_names, pairs_of
from airflow_ddlrepl.errors import SourceError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def compare_tables(tasks: Sequence[CompareTask]) -> list[TableReport]:
    """Compare tables of one source with those of one file; a table that can't be read is reported with the reason."""
    with session(tasks[0].target_dsn, is_reader=True) as connection:
        return [_one_table(connection, task) for task in tasks]


def _one_table(connection: Connection, task: CompareTask) -> TableReport:
    started = time.monotonic()
    try:
        report = _report(connection, task)
    except SourceError as error:
        why = f"it is not compared: {error.code}: {error.message}; {error.hint}"
        return TableReport(task.source.name, task.target, structure=(why,), waits=True)
    return replace(report, seconds=round(time.monotonic() - started, 3))


def _report(connection: Connection, task: CompareTask) -> TableReport:
    """Read the source's rows into a temporary table beside the target's, and look for what differs."""
    found = columns_there(connection, task.target)
    if not found:
        return missing_table(task)
    plain = TableReport(task.source.name, task.target, structure=tuple(structure(task, found, DUCK_TYPES)))
    if task.source.is_partitioned:  # its partitions are compared
        return replace(plain, columns=len(pairs_of(task)))
    pairs = [one for one in pairs_of(task) if found.get(one[1].name) == physical(one[1].type, task.shape.types)]
    target = present_rows(task.shape, qualified(task.target), [quote(name) for name in key_names(task)])
    try:
        copied, total = SourceRows(connection, task, pairs, physical).copy()
        there = connection.execute(f"SELECT count(*) FROM {target}").fetchall()[0][0]
        plain = replace(plain, columns=len(pairs), source_rows=copied, discarded=total - copied, target_rows=int(there))
        return Differences(connection, task, target).of(plain, pairs)
    finally:
        connection.execute(f"DROP TABLE IF EXISTS {SOURCE}")
