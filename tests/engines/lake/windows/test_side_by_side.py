"""Merges of different tables run side by side, those of one table in the order of the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_ddlrepl.adapt.program.program import Slice
from airflow_ddlrepl.engines.lake.connection.files import DiskFiles
from airflow_ddlrepl.engines.lake.merge.stage import Staged
from airflow_ddlrepl.engines.lake.target import apply
from airflow_ddlrepl.engines.lake.target.side_by_side import side_by_side
from airflow_ddlrepl.engines.target_state import StagedSlice
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType


class StagedTables:
    """A window in which tables are only named: what is staged, and when."""

    spark = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))
    files = DiskFiles()

    def __init__(self) -> None:
        self.transactions: list[list[str]] = []

    def stage(self, names: Sequence[TableName]) -> None:
        self.transactions.append([name.name for name in names])

    def commit(self) -> None:
        self.transactions.append(["commit"])

    def table(self, name: TableName) -> str:
        return name.name


def staged(number: int, name: str, low: int, high: int) -> StagedSlice:
    """Rows of one section of a table."""
    table = Table(number, TableName("shop", name), (Column(1, "id", DataType("int4", "pg_catalog", "int4")),))
    piece = Slice(number, LogKey(low, 0), LogKey(high, 0), table, table, table.name)
    return StagedSlice(piece, {0: [Staged(read=low)]})


def test_tables_are_merged_side_by_side_and_each_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    both, done = Barrier(2, timeout=20), list[str]()

    def merge(_spark: object, to: str, name: TableName, shape: Table, part: list[Staged]) -> Counter[str]:
        if part[0].read == 1:
            both.wait()  # one alone waits in vain
        done.append(f"{to} {part[0].read}")
        return Counter(inserted=2)

    monkeypatch.setattr(apply, "merge", merge)
    window = StagedTables()
    slices = [staged(1, "a", 1, 5), staged(2, "b", 1, 9), staged(1, "a", 5, 9)]
    program: Any = SimpleNamespace(statements=[], steps=[])
    applied = apply.stage_program(window, program, slices).applied  # type: ignore[arg-type]
    assert [one for one in done if one[0] == "a"] == ["a 1", "a 5"] and set(done) == {"a 1", "a 5", "b 1"}
    assert applied.rows == {"inserted": 6} and window.transactions == [["a", "b"], ["commit"]]


def test_the_first_error_in_the_order_of_the_log_is_raised_and_the_rest_does_not_begin() -> None:
    both, done = Barrier(2, timeout=20), list[int]()

    def work(item: int) -> None:
        if item < 2:
            both.wait()
            raise RowsRefused(f"rows of {item}", code="INT-101", hint="")
        done.append(item)

    with pytest.raises(RowsRefused, match="rows of 0"):
        side_by_side(work, range(500), 2)
    assert done == []


@pytest.mark.parametrize("items", [[], [1], [1, 2, 3]])
def test_every_item_is_done_once(items: list[int]) -> None:
    done: list[int] = []
    side_by_side(done.append, items, 2)
    assert sorted(done) == items
