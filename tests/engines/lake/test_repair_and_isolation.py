"""Rows of a lake are repaired by any key, and tables are loaded while a run writes to others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.admin import isolated_refresh
from airflow_ddlrepl.flow.comparing import repair as module
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.refresh_options import read_options
from airflow_ddlrepl.ports.work import InProcess
from tests.conformance.test_repair import GOODS
from tests.conftest import Databases
from tests.support.lakes.channel import Lake

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(1200)]

TABLE = TableName("public", "goods")


def test_every_key_of_a_lake_is_found(
    databases: Databases, tmp_path: Path, lake_spark: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are there twice become one, a column that only the lake has keeps its values, and it is one commit."""
    monkeypatch.setattr(module, "refresh", None)
    lake = Lake(databases.source, tmp_path, adapt_ddl=[{"keep_existing_structure": True}])
    lake.at_source(*GOODS)
    lake.activate()
    lake.at_source("alter table goods drop column old")
    lake.settle()
    lake.by_hand(
        TABLE,
        "INSERT INTO {0} SELECT * FROM {0} WHERE price IN (3, 4)",
        "DELETE FROM {} WHERE price = 5 AND part <> 'NULL'",
        "UPDATE {} SET share = 7, many = '{{9}}', data = NULL WHERE price IN (6, 7)",
        "UPDATE {} SET part = concat(part, '\\\\') WHERE price = 8",
    )
    (found,) = lake.compare().tables
    assert (found.missing, found.extra, found.different) == (3 + 4, 8 + 4, 8)
    lake.at_source("update goods set price = 100 where price = 7 and part <> 'NULL'")
    assert lake.compare().tables[0].in_flight == 3
    snapshots = len(lake.table(TABLE).snapshots())
    with flow.open_channel(lake.file, InProcess()) as run:
        assert flow.repair(run).differences == 0
    assert len(lake.table(TABLE).snapshots()) == snapshots + 1
    assert sum(row["old"] == f"of row {row['price']}" for row in lake.read(TABLE)) == 73
    lake.settle()


def test_a_table_is_loaded_beside_a_run(
    databases: Databases, tmp_path: Path, lake_spark: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(databases.source, tmp_path)
    lake.at_source("create table a (id int primary key, v text)", "create table b (id int primary key, v text)")
    lake.at_source("insert into a select i, 'a' from generate_series(1, 9) i", "insert into b values (1, 'b')")
    lake.activate()
    lake.by_hand(TableName("public", "a"), "DELETE FROM {} WHERE id = 7")

    def others_work() -> None:
        lake.at_source(
            "update a set v = 'later' where id < 3", "delete from a where id = 9", "insert into b values (2)"
        )
        lake.replicate()

    todo: list[Any] = [others_work]
    monkeypatch.setattr(
        isolated_refresh, "reach", lambda here: todo.pop()() if here == "isolated.loaded" and todo else None
    )
    with flow.open_channel(lake.file, InProcess()) as run:
        flow.refresh_isolated(run, ["public.a"], read_options("-inow"))
    assert not todo
    assert [row["id"] for row in lake.read(TableName("public", "b"))] == ["1", "2"]
    lake.settle()
