"""Comparing: a table of a source and its target as a task that may run anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from airflow_ddlrepl.compare.report import TableReport
from airflow_ddlrepl.config.condition.expression import Part
from airflow_ddlrepl.engines import engine
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.transform.values import Transform


@dataclass(frozen=True, slots=True)
class CompareTask:
    """One table to compare; picklable, its text never shows a location.

    source: the table's shape at the source, without what the target is not to have. target: its name at the target.
    shape: what the target should hold, columns with the source's ids; columns that the source doesn't have (kept ones)
    are not compared. limit: how many differing rows are named. wanted: `source` as the target should show it; None:
    as it is. rows: true for the source's rows that the target is to have; None: all.
    transform: what gives values of those rows.
    """

    source_dsn: str = field(repr=False)
    target_dsn: str = field(repr=False)
    source: Table
    target: TableName
    shape: Table
    limit: int = 20
    wanted: Table | None = None
    rows: Part | None = None
    transform: Transform | None = None


def compare_tables(tasks: Sequence[CompareTask]) -> list[TableReport]:
    """Compare tables of one source and one target, whose rows are read under one snapshot each, wherever this runs.

    Rows that are on their way between them count as differences.
    Raises SourceError SRC-180 or TargetError TGT-180 when a side can't be read, and what a transformation raises.
    """
    return engine(tasks[0].target_dsn).compare(tasks)
