"""A snapshot of a lake's table says up to where the table has the source's log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.catalogs import catalog_of
from tests.support.lakes.channel import Lake
from tests.support.lakes.outsider import somebody

pytestmark = pytest.mark.xdist_group("spark")
T, NEW = TableName("public", "t"), TableName("public", "made_later")
PAGE = Path(__file__).parents[4] / "docs" / "lakehouse.md"


def position(lake: Lake) -> int:
    """Where the target stands, as the catalog's database has it."""
    with catalog_of(lake.location) as query:
        return int(query("SELECT lsn FROM ddlrepl_position")[0][0])


def told(lake: Lake, name: TableName) -> list[tuple[str | None, str | None]]:
    """What each snapshot of a table says of itself, oldest first."""
    found = sorted(lake.table(name).snapshots(), key=lambda one: one.sequence_number)
    return [tuple(one.summary[f"ddlrepl.{key}"] for key in ("loaded", "position")) for one in found]  # type: ignore[misc]


def test_the_snapshot_of_a_position_is_found(databases: Databases, tmp_path: Path, lake_spark: None) -> None:
    lake = Lake(databases.source, tmp_path)
    lake.at_source("create table t (id int primary key, n int)", "insert into t values (1, 1), (2, 2)")
    lake.activate()
    loaded, points = position(lake), list[tuple[int, object]]()
    for number, work in enumerate(
        (
            "insert into t values (3, 3); create table made_later as select 1 as id",
            "update t set id = 30 where id = 3",  # removed and added: two snapshots
            "alter table t rename n to m; insert into t values (4, 4)",
        )
    ):
        lake.at_source(f"begin; {work}; commit")
        lake.settle()
        points.append((position(lake), lake.as_of(T, lake.table(T).current_snapshot().snapshot_id)))
        lake.by_hand(T, f"INSERT INTO {{}} VALUES ({number} + 70, 0)")  # what others write has no position
        lake.by_hand(T, "DELETE FROM {} WHERE id >= 70")
    lake.at_source("alter table t add column more int")
    lake.settle()
    snapshots = told(lake, T)
    assert int(snapshots[0][0] or 0) >= loaded and snapshots[0][1] is None
    windows, ends = [int(at) for _, at in snapshots if at], [at for at, _ in points]
    assert [low < at <= high for low, at, high in zip([loaded, *ends], windows, ends, strict=False)] == [True] * 3
    assert len(windows) == 3 and windows[0] <= int(told(lake, NEW)[0][0] or 0)
    (query,) = re.findall(r"```sparksql\n(SELECT snapshot_id FROM lake.*?)```", PAGE.read_text(), re.DOTALL)
    asked = query.replace("public.orders", "public.t")
    for at, rows in points:
        for behind in (0, 1):
            (found,) = somebody(lake.location).sql(re.sub(r"\b\d{6,}\b", str(at + behind), asked)).collect()
            assert lake.as_of(T, found[0]) == rows
