"""How much of the log a task has in memory: rows are cut by number and size, and spread where their keys allow it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_ddlrepl.engines.postgres.types.arrow_values import POSTGRES_VALUES
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.engines.staging import ROWS_PER_BUCKET, bucket_count
from airflow_ddlrepl.integrate.stage_task import (
    ROW_BYTES,
    ROWS_PER_SECTION,
    StageTask,
    most_buckets,
    sections,
    tasks_of_one_merge,
)
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Column, Identity, Key, Table
from airflow_ddlrepl.model.types import DataType, TypeKind
from airflow_ddlrepl.trail.manifest import RowFile

NAME = TableName("public", "t")
HALF = ROWS_PER_SECTION // 2


def file(number: int, rows: int, *, bytes_a_row: int = 100, key_updates: int = 0) -> RowFile:
    key = LogKey(number, 0)
    counts = (rows, rows, 0, 0, key_updates, 0)
    return RowFile("f", 1, "public", "t", Identity.DEFAULT, (), key, key, *counts, 1, "", None, rows * bytes_a_row)


def table(type_: str = "int4", *, with_key: bool = True) -> Table:
    column = Column(1, "id", DataType(type_, "pg_catalog", type_, TypeKind.BASE))
    return Table(1, NAME, (column,), Key((1,), "pk", is_primary=True) if with_key else None)


def task(of: Table, files: tuple[RowFile, ...]) -> StageTask:
    return StageTask(
        "postgresql://target", "", "shop", files, LogKey(0, 0), LogKey(9, 0), of, of, NAME, "s", POSTGRES_VALUES
    )


def test_a_section_holds_no_more_than_its_buckets_can() -> None:
    files = [file(number, HALF) for number in range(8)]
    assert [len(section) for section in sections(files)] == [2, 2, 2, 2]
    assert [len(section) for section in sections(files, 3)] == [6, 2]


def test_large_rows_count_as_several() -> None:
    """A column of a section may have no more than two gigabytes of text."""
    files = tuple(file(number, 100_000, bytes_a_row=5 * ROW_BYTES) for number in range(8))
    found = sections(files)
    assert [len(section) for section in found] == [2, 2, 2, 2]
    assert all(sum(one.memory for one in section) < 1 << 30 for section in found)
    assert bucket_count(task(table(), files), 64) == 8
    assert bucket_count(task(table(), tuple(replace(one, memory=0) for one in files)), 64) == 8


@pytest.mark.parametrize(("workers", "buckets"), [(1, 1), (2, 2), (4, 4), (64, 5)])
def test_every_worker_that_has_enough_to_do_gets_a_bucket(workers: int, buckets: int) -> None:
    """Half a million changes of one table are work for five; with many more all of them are read too often."""
    assert bucket_count(task(table(), (file(1, 500_000),)), workers) == buckets
    assert bucket_count(task(table(), (file(1, 2 * ROWS_PER_BUCKET - 1),)), workers) == 1
    assert bucket_count(task(table(), (file(1, 5_000_000, bytes_a_row=1),)), workers) == min(workers, 10)


ALONE = {"keyless": (table(with_key=False), 0), "loose": (table("interval"), 0), "moved": (table(), 1)}


@pytest.mark.parametrize(("of", "moved"), ALONE.values(), ids=ALONE)
def test_rows_that_belong_together_are_cut_for_one_task(of: Table, moved: int) -> None:
    """However many tasks there are at once: one has to hold all of them."""
    files = tuple(file(number, HALF, key_updates=moved) for number in range(8))
    assert most_buckets(of, files, 64, POSTGRES_TYPES) == 1 == bucket_count(task(of, files), 64)
    assert most_buckets(table(), [file(1, 1)], 64, POSTGRES_TYPES) == 64


def test_rows_of_one_merge_are_spread_over_as_many_tasks_as_hold_them() -> None:
    """Unless a key may change: then one task may have to hold all of a section."""
    files = [file(number, HALF) for number in range(9)]
    assert [tasks_of_one_merge(files, tasks) for tasks in (1, 2, 64)] == [5, 5, 64]
    assert len(sections(files, tasks_of_one_merge(files, 2))) == 1
    assert tasks_of_one_merge([*files, file(9, 1, key_updates=1)], 2) == 2
