"""This module defines the task that compares one table of a source with its table at a target, in any process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from airflow_ddlrepl.compare.report import TableReport
from airflow_ddlrepl.engines import Compares, engine
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.mapping.misfits import may_not_fit
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.settings.table_settings import CoerceErrorPolicy
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.ports.rows import RowSource
from airflow_ddlrepl.trail.manifest import RowFile


@dataclass(frozen=True, slots=True)
class CompareTask:
    """A compare task compares one table of a source with its table at a target.

    It is picklable; its text never shows a location.
    contents: the rows that the target is to have of the source's: `columns_compared` of `source`, the table's shape at
    the source without what the target is not to have. target: the table's name at the target. shape: what the target
    should hold, columns with the source's ids; columns that the source doesn't have (retained ones) are not compared.
    limit: how many differing rows are named. wanted: `source` as the target should show it; None: as it is.
    policy: what happens to values that the target's columns can't hold. uncompared: ids of columns that are left aside.
    named: keys of rows that differ; the report says in which columns, and nothing else; empty: all is compared.
    """

    contents: RowSource
    target_dsn: str = field(repr=False)
    source: Table
    target: TableName
    shape: Table
    limit: int = 20
    wanted: Table | None = None
    policy: CoerceErrorPolicy = CoerceErrorPolicy.FAIL
    uncompared: frozenset[int] = frozenset()
    named: tuple[str, ...] = ()

    @property
    def computed(self) -> tuple[Column, ...]:
        """Return the compared columns whose values a server computes when they are read, which may fail for a row."""
        there = {column.id for column in self.shape.columns} - self.uncompared
        return tuple(one for one in self.source.columns if one.generated == "virtual" and one.id in there)

    @property
    def discards(self) -> bool:
        """Does the target not have rows with a value that its columns can't hold?"""
        return self.policy is CoerceErrorPolicy.DISCARD

    @property
    def unfit(self) -> tuple[Column, ...]:
        """Return the target's columns that may not hold a value of the source's, where the file says what then."""
        theirs = {column.id: column for column in self.source.columns}
        keys = self.source.key.columns if self.source.key and not self.discards else ()
        pairs = ((theirs[c.id], c) for c in self.shape.columns if c.id in theirs and c.id not in keys)
        return tuple(ours for one, ours in pairs if may_not_fit(one, ours)) if self.policy.replaces else ()


def columns_compared(source: Table, shape: Table) -> tuple[str, ...]:
    """Return the names of the source's columns that a table of this shape has, in its order."""
    theirs = {column.id: column.name for column in source.columns}
    return tuple(theirs[column.id] for column in shape.columns if column.id in theirs)


@dataclass(frozen=True, slots=True)
class WrittenKeys:
    """This task finds the keys of the rows that a part of the log is about, as a comparison's reports have them.

    compared: the comparison of the table. files: its row changes, by the URL of the trail that has them. low, high: of
    the log. skip_lsns: commit positions of transactions that the target's table contains already. values:
    converts those of the trail.
    """

    compared: CompareTask
    channel: str
    files: tuple[tuple[str, tuple[RowFile, ...]], ...] = field(repr=False)
    low: LogKey
    high: LogKey
    values: ChangeValues = field(repr=False)
    skip_lsns: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class RepairTask:
    """A repair task writes rows of a target's table as the source has them.

    state: of the table at the target. keys: of the rows, as a comparison's reports have them.
    """

    compared: CompareTask
    state: TableState
    keys: tuple[str, ...]


def written_keys(task: WrittenKeys) -> dict[str, bool] | None:
    """Return the keys of all rows that were written; of a table without a key whole rows, before and after.

    The value of a key: did the first change of it find a row with this key, as updates and deletes do?
    None: the log does not show them, because it lacks old values or has some of a type that can't be read alone.
    """
    return able(engine(task.compared.target_dsn), Compares).written_keys(task)


def compare_tables(tasks: Sequence[CompareTask]) -> list[TableReport]:
    """Compare tables of one source and one target, in this process; the rows of each side are read under one snapshot.

    Changes that the target has not applied yet count as differences.
    Raises SourceError SRC-180 or TargetError TGT-180 when a side can't be read, and what a transformation raises.
    """
    return able(engine(tasks[0].target_dsn), Compares).compare(tasks)
