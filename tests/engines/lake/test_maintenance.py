"""Maintenance makes a lake's tables few in files: no row changes, and nothing goes that somebody needs."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli.exit_codes import judge_maintenance
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.engines.abilities.maintenance import Thresholds
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.maintenance import maintain
from airflow_ddlrepl.errors import ConfigError, Exit, LockHeld, Unsupported
from airflow_ddlrepl.flow.targets.maintenance import Maintenance, thresholds_for
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.lakes.channel import Lake
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(900), pytest.mark.usefixtures("lake_spark")]
T = TableName("public", "t")
FOUR_DAYS = 4 * 24 * 3600


def maintained(lake: Lake, **how: str) -> Any:
    """What the maintenance of a channel did; snapshots and small files are old and many at once."""
    with flow.open_channel(lake.file, InProcess()) as cycle:
        return flow.by_arguments.maintain(cycle, **{"retain": "0s", "small_files": "2", **how})


def files(lake: Lake) -> set[Path]:
    return {path for path in (lake.catalog.parent / "files").rglob("*") if path.is_file()}


def test_tables_get_few_files_and_tagged_snapshots_and_other_peoples_files_stay(
    databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(databases.source, tmp_path)
    lake.at_source("CREATE TABLE t (id int PRIMARY KEY, note text)")
    lake.at_source("INSERT INTO t SELECT i, 'first' FROM generate_series(1, 100) i")
    lake.activate()
    for number in range(3):
        lake.at_source(
            f"INSERT INTO t SELECT i, 'later' FROM generate_series({number + 2}00, {number + 2}09) i",
            f"DELETE FROM t WHERE id % 10 = {number}",
        )
        lake.replicate()
    rows, snapshots = lake.read(T), [one.snapshot_id for one in lake.table(T).snapshots()]
    lake.by_hand(T, f"ALTER TABLE {{}} CREATE TAG month_end AS OF VERSION {snapshots[1]}")
    tagged = lake.as_of(T, snapshots[1])

    (done,) = maintained(lake).tables.values()
    assert done["rewritten"] > done["written"] == 1 and done["expired"] > 1 and done["removed"] == 0
    assert lake.read(T) == rows and lake.as_of(T, snapshots[1]) == tagged
    left = {one.snapshot_id for one in lake.table(T).snapshots()}
    assert snapshots[1] in left and not {*snapshots[2:]} & left

    for path in files(lake):  # as if all of that had been days ago
        os.utime(path, times=(time.time() - FOUR_DAYS,) * 2)
    window, known = Window(lake.location, "somebody"), files(lake)
    window.spark.sql(f"INSERT INTO {window.table(T)} VALUES (0, 'not visible yet')")
    young = files(lake) - known
    (done,) = maintained(lake).tables.values()
    assert done["removed"] > 0 and len(files(lake)) < len(known) and young <= files(lake)
    assert lake.read(T) == rows and lake.as_of(T, snapshots[1]) == tagged
    window.begin()

    change = maintain.change

    def change_beside_somebody(*given: Any) -> Any:
        found = change(*given)
        lake.by_hand(T, "INSERT INTO {} VALUES (1000, 'theirs')")
        return found

    lake.at_source("DELETE FROM t WHERE id > 250")
    lake.replicate()
    with monkeypatch.context() as patch:
        patch.setattr(maintain, "change", change_beside_somebody)
        assert "TGT-112" in maintained(lake).left["warehouse public.t"]
    lake.by_hand(T, "DELETE FROM {} WHERE id = 1000")  # nothing that they wrote was lost
    with flow.open_channel(lake.file, InProcess()) as cycle:
        assert flow.compare(cycle).is_equal


def test_a_table_that_is_left_is_no_success() -> None:
    assert judge_maintenance(Maintenance({}, {"lake public.t": "TGT-112"})) is Exit.FAILED
    assert judge_maintenance(Maintenance({"lake public.t": {"expired": 1}})) is Exit.DONE


def test_thresholds_are_read_and_a_rewind_needs_more(tmp_path: Path) -> None:
    horizon = load_channel(channel_file(tmp_path, "source_db", "lake_db", rewind_horizon={"age": "7d"}))
    assert thresholds_for(horizon, "1h", "3", "20") == Thresholds(7 * 86400, 3, 20)
    assert thresholds_for(horizon, "8d", "3", "20").retain_seconds == 8 * 86400
    for given in (("soon", "3", "20"), ("1h", "few", "20"), ("1h", "3", "0"), ("1h", "-1", "20")):
        with pytest.raises(ConfigError, match="CFG-139"):
            thresholds_for(horizon, *given)


def test_a_channel_without_a_lake_is_refused(databases: Databases, tmp_path: Path) -> None:
    made = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    made.activate()
    with flow.open_channel(made.file, InProcess()) as cycle, pytest.raises(Unsupported, match="ADP-195"):
        flow.by_arguments.maintain(cycle)


def test_maintenance_waits_for_other_runs_and_leaves_what_a_rewind_needs(databases: Databases, tmp_path: Path) -> None:
    lake = Lake(databases.source, tmp_path, rewind_horizon={"age": "7d"})
    lake.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    lake.activate()
    lake.at_source("INSERT INTO t VALUES (2)")
    lake.replicate()
    with flow.open_channel(lake.file, InProcess()) as cycle, cycle.locked("another run"), pytest.raises(LockHeld):
        maintained(lake)
    done = maintained(lake, small_files="100")
    assert done.tables == {} and done.left == {} and len(list(lake.table(T).snapshots())) == 2
