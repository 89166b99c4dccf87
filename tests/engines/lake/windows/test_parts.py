"""A window of many changes of one table is staged in parts that fit into memory, and merged at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.engines import staging
from airflow_ddlrepl.engines.lake.merge.stage import LakeStager, Staged
from airflow_ddlrepl.integrate import stage_task
from airflow_ddlrepl.integrate.ready_rows import ReadyRows
from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.channel import Lake

T = TableName("public", "t")


@pytest.mark.xdist_group("spark")
def test_a_window_in_several_parts_is_one_merge(
    databases: Databases, tmp_path: Path, lake_spark: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(databases.source, tmp_path)
    lake.at_source("create table t (id int primary key, n int, note text storage external)")
    lake.at_source("insert into t select i, i, repeat('long', 1000) || i from generate_series(1, 300) i")
    lake.activate()
    parts, store = list[Staged](), LakeStager.store

    def stored(self: LakeStager, ready: ReadyRows) -> Staged:
        parts.append(store(self, ready))
        return parts[-1]

    monkeypatch.setattr(LakeStager, "store", stored)
    monkeypatch.setattr(stage_task, "ROWS_PER_SECTION", 100)
    monkeypatch.setattr(staging, "ROWS_PER_BUCKET", 80)
    before = len(lake.table(T).snapshots())
    for start in (1, 81, 161):  # a value that the log does not have stays as the target has it
        lake.at_source(
            f"update t set n = -n where id between {start} and {start + 79}",
            f"delete from t where id = {start + 40}; insert into t values (1000 + {start}, 0, 'new')",
        )
        lake.capture()
    lake.settle()
    assert len(lake.table(T).snapshots()) == before + 1
    assert len(parts) == 3 and all(sum(one.counts.values()) > 50 for one in parts), parts

    lake.at_source("update t set id = id + 5000 where id = 7")  # one task takes all: each window has its own sections
    lake.capture()
    lake.at_source("update t set n = 5 where id between 10 and 200")
    lake.capture()
    lake.settle()
