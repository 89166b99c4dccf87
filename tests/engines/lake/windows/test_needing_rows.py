"""A window merges the rows of a table once, where the schema changes between them leave every value as it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_ddlrepl.adapt.plan_model import Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.program.program import ProgramStep, Slice
from airflow_ddlrepl.engines.lake.connection.files import DiskFiles
from airflow_ddlrepl.engines.lake.ddl.needing_rows import needs_rows
from airflow_ddlrepl.engines.lake.merge.stage import Staged
from airflow_ddlrepl.engines.lake.target import apply
from airflow_ddlrepl.engines.target_state import StagedSlice
from airflow_ddlrepl.model.change import EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.table_state import PartialRefresh, TableState, TableStatus
from airflow_ddlrepl.model.target_columns import DELETED
from tests.engines.duckdb.test_types import of

ORDERS = TableName("shop", "orders")
ID, NOTE, STATE = Column(1, "id", of("bigint")), Column(2, "note", of("text")), Column(3, "state", of("text"))
SHAPE = Table(1, ORDERS, (ID, NOTE), key=Key((1,), "orders_pkey", True))
ADD = "ALTER TABLE `shop`.`orders` ADD COLUMN `state` STRING"
UPDATE = "UPDATE `shop`.`orders` SET `note` = 'x'"


def step(
    before: TableState | None, after: TableState | None, *sql: str, at: int = 5, kind: StepKind = StepKind.SQL
) -> ProgramStep:
    event: Any = SimpleNamespace(key=LogKey(at, 0), kind=EventKind.DDL)
    plan = TablePlan(ORDERS, ORDERS, (), (), (Step(kind, "", sql),), (), None)
    return ProgramStep(event, 1, plan, before, after)


def now(*columns: Column, name: TableName = ORDERS, key: int | None = 1) -> TableState:
    of_key = None if key is None else Key((key,), "orders_pkey", True)
    return TableState(1, name, SHAPE.with_(name=name, columns=columns, key=of_key))


PLAIN = now(ID, NOTE)


@pytest.mark.parametrize(
    "after, statements",
    [
        (now(ID, NOTE, STATE), [ADD]),
        (now(ID), ["ALTER TABLE `shop`.`orders` DROP COLUMN `note`"]),
        (now(ID, replace(NOTE, name="remark")), ["ALTER TABLE `shop`.`orders` RENAME COLUMN `note` TO `remark`"]),
        (now(ID, NOTE, name=TableName("shop", "x")), ["ALTER TABLE `shop`.`orders` RENAME TO `shop`.`x`"]),
        (now(ID, replace(NOTE, nullable=False)), []),
    ],
    ids=["add", "drop", "rename", "rename table", "nothing"],
)
def test_rows_may_be_merged_after(after: TableState, statements: list[str]) -> None:
    assert not needs_rows(step(PLAIN, after, *statements))


@pytest.mark.parametrize(
    "before, after, statements",
    [
        (None, PLAIN, ["CREATE TABLE `shop`.`orders` (`id` BIGINT)"]),
        (PLAIN, None, ["DROP TABLE IF EXISTS `shop`.`orders`"]),
        (PLAIN, PLAIN, [UPDATE]),
        (PLAIN, now(ID, NOTE, STATE), [ADD, UPDATE]),
        (PLAIN, now(ID, NOTE, key=2), []),
        (now(ID, NOTE, key=None), now(ID, key=None), ["ALTER TABLE `shop`.`orders` DROP COLUMN `note`"]),
        (PLAIN, replace(PLAIN, state=TableStatus.PENDING), []),
        (replace(PLAIN, partial=PartialRefresh("id > 1")), PLAIN, []),
        (now(ID, replace(NOTE, missing="x")), now(ID, NOTE), []),
        (now(ID, replace(STATE, extra=DELETED)), now(ID, NOTE, replace(STATE, extra=DELETED)), [ADD]),
    ],
    ids=["create", "drop", "update", "fill", "key", "no key", "refresh", "some rows", "written again", "deleted rows"],
)
def test_rows_are_merged_before(before: TableState | None, after: TableState | None, statements: list[str]) -> None:
    assert needs_rows(step(before, after, *statements))


def test_a_refresh_and_a_truncate_need_the_rows_before() -> None:
    assert needs_rows(step(PLAIN, PLAIN, kind=StepKind.REFRESH))
    event: Any = SimpleNamespace(key=LogKey(5, 0), kind=EventKind.TRUNCATE)
    assert needs_rows(ProgramStep(event, 1, None, PLAIN, PLAIN))


def test_rows_in_front_of_changes_of_columns_are_merged_with_those_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def merge(_spark: object, to: str, name: TableName, shape: Table, part: list[Staged]) -> Counter[str]:
        columns = " ".join(column.name for column in shape.columns)
        done.append(f"merge {sum(one.read for one in part)} into {name.name}: {columns}")
        return Counter()

    monkeypatch.setattr(apply, "merge", merge)
    monkeypatch.setattr(apply, "run", lambda _window, statement: done.append(statement))
    named = now(ID, replace(NOTE, name="remark"), STATE, name=TableName("shop", "x"))
    steps = [
        step(PLAIN, now(ID, NOTE, STATE), ADD, at=3),
        step(now(ID, NOTE, STATE), named, "ALTER TABLE `shop`.`orders` RENAME TO `shop`.`x`", at=5),
        step(named, named, UPDATE, at=7),
    ]
    slices = [
        StagedSlice(Slice(1, LogKey(low, 0), LogKey(high, 0), SHAPE, SHAPE, ORDERS), {0: [Staged((1,), read=read)]})
        for low, high, read in ((1, 3, 1), (3, 5, 10), (5, 7, 100), (7, 9, 1000))
    ]
    slices[3] = replace(slices[3], piece=replace(slices[3].piece, name=named.name, target=named.shape))
    window: Any = SimpleNamespace(
        spark=SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=1)),
        files=DiskFiles(),
        stage=lambda names: None,
        table=lambda name: str(name),
        commit=lambda: None,
    )
    program: Any = SimpleNamespace(statements=[[one] for one in steps], steps=steps)
    apply.stage_program(window, program, slices)
    assert [one.partition(" `")[0] for one in done] == [
        "ALTER TABLE", "ALTER TABLE",
        "merge 111 into x: id remark state", "UPDATE",
        "merge 1000 into x: id remark state",
    ]  # fmt: skip
