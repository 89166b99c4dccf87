"""The DAG under a real scheduler, as a user runs it: bundle configured, `dags unpause`, `dags trigger`."""

from __future__ import annotations

import json
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.errors import DdlReplError
from tests.airflow.support import shop
from tests.airflow.support.answering import Asked
from tests.airflow.support.shared import Shared

DAG = "ddlrepl__standalone__replicate"
REWIND = "ddlrepl__standalone__rewind"
REPLAY = "ddlrepl__standalone__replay"
HR = "ddlrepl__hr__replicate"
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "goldengate" / "renamed_schema"


class Urls(NamedTuple):
    """Of the channel's databases."""

    source: str
    target: str
    past: str


@pytest.mark.req("DC-04", "DC-05", "DC-07")
@pytest.mark.e2e
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("standalone")
def test_a_triggered_run_replicates_an_approved_one_rewinds_a_backfill_replays(shared_airflow: Shared) -> None:
    airflow, urls = shared_airflow.airflow, Urls(*shared_airflow.databases("shop"))
    place = (shared_airflow.bundle, shared_airflow.home, "standalone", "shop_source", "shop_target", "shop_past")
    shop.run_sql(urls.source, shop.BEFORE)
    shop.activate(shop.write_channel(*place))
    before, then = shop.rows(urls.source, "orders"), shop.position(urls.source)
    shop.run_sql(urls.source, shop.CHANGES)
    start = this_minute()
    airflow.wait_for_dag(DAG)
    airflow.command("dags", "unpause", DAG, "--yes")
    airflow.command("dags", "trigger", DAG, "--run-id", "first")
    assert airflow.wait_for_run(DAG, "first", 420) == "success", airflow.task_logs()
    assert airflow.returned(DAG, "first", "capture")["ddl"]["ALTER TABLE"] == 2
    for table in ("orders", "customers"):
        assert shop.rows(urls.target, table) == shop.rows(urls.source, table)
    airflow.command("dags", "unpause", REWIND, "--yes")
    airflow.command("dags", "trigger", REWIND, "--run-id", "back", "--conf", json.dumps({"to": then}))
    shown, state = airflow.approve(REWIND, "back", "approve", 480)
    assert "| `public.orders` | safe (keep or regenerate) | 50 at " in shown
    assert state == "success", airflow.task_logs()
    tasks = airflow.wait_for_answer(f"/api/v2/dags/{REWIND}/dagRuns/back/taskInstances")["task_instances"]
    began, ended = ({one["task_id"]: one[f"{what}_date"] for one in tasks} for what in ("start", "end"))
    assert datetime.fromisoformat(began["rewind"]) >= datetime.fromisoformat(ended["approve"])
    assert airflow.returned(REWIND, "back", "rewind")["tables"] == ["public.orders"]
    assert shop.rows(urls.past, "orders") == before
    assert shop.rows(urls.target, "orders") == shop.rows(urls.source, "orders")
    backfill(airflow, urls, place, start)


def backfill(airflow: Asked, urls: Urls, place: tuple[Path, Path, str, str, str, str], start: datetime) -> None:
    """Two intervals: the first with everything so far, the second with one row more. The target is left alone."""
    while this_minute() == start:
        time.sleep(1)
    first = shop.rows(urls.source, "orders")
    shop.run_sql(urls.source, ["INSERT INTO orders VALUES (52, 'in the second interval', 1)"])
    ends = [start + timedelta(minutes=1), this_minute() + timedelta(minutes=1)]
    shop.replicate(shop.write_channel(*place))
    shop.run_sql(urls.target, ["DELETE FROM orders WHERE id = 52"])
    schedule = ",".join(str(moment.minute) for moment in sorted({start, *ends}, key=lambda at: at.minute)) + " * * * *"
    shop.write_channel(*place, schedule=schedule)
    airflow.wait_for_dag(DAG, schedule)
    airflow.wait_for_interval(DAG, ends[1], 300)
    airflow.wait_for_dag(REPLAY)
    airflow.command("dags", "unpause", REPLAY, "--yes")
    with pytest.raises(DdlReplError, match=r"(?s)DEM-102: .*does not allow backfill runs"):
        airflow.backfill(DAG, start, ends[0], 300)
    done = airflow.backfill(REPLAY, start, ends[0], 300)
    assert list(done.values()) == ["success", "success"], airflow.task_logs()
    results = [airflow.returned(REPLAY, run, "replay") for run in done]
    assert [sorted(result["loaded"]) for result in results] == [["public.orders"], []]
    assert [result["rows"].get("inserted") for result in results] == [3, 1]
    assert shop.rows(urls.past, "orders") == shop.rows(urls.source, "orders") != first
    assert shop.rows(urls.target, "orders") == first


def this_minute() -> datetime:
    return datetime.now(UTC).replace(second=0, microsecond=0)


def answers(dsn: str, query: str) -> list[tuple[Any, ...]]:
    with connect(dsn) as connection:
        return connection.execute(query.encode()).fetchall()


def example(shared: Shared) -> Path:
    """The example in the folder of Airflow's channels, with this test's connections, its state beside it."""
    for name in ("ehr.prm", "rhr.prm"):
        shutil.copy(EXAMPLE / name, shared.bundle / name)
    text = (EXAMPLE / "hr.yml").read_text()
    text = text.replace("hr_db", "goldengate_source").replace("backup_db", "goldengate_target")
    file = shared.bundle / "hr.yml"
    file.write_text(f"{text}repository: sqlite:///{shared.home}/hr.db\ntrail: {shared.home}/hr.trail\n")
    return file


@pytest.mark.e2e
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("standalone")
def test_goldengate_s_parameter_files_replicate_rows_and_ddl_under_other_names(shared_airflow: Shared) -> None:
    source, target, _ = shared_airflow.databases("goldengate")
    airflow = shared_airflow.airflow
    shop.run_sql(source, [
        "CREATE SCHEMA hr",
        "CREATE TABLE hr.emp (id int PRIMARY KEY, name text)",
        "INSERT INTO hr.emp VALUES (1, 'Ada')",
    ])  # fmt: skip
    shop.activate(example(shared_airflow))
    shop.run_sql(target, ["ALTER TABLE backup.emp ADD phone text"])
    shop.run_sql(source, [
        "ALTER TABLE hr.emp /* asked for by Bob */ ADD salary int DEFAULT 100",
        "CREATE TABLE hr.dept (id int PRIMARY KEY, boss int REFERENCES hr.emp)",
        "INSERT INTO hr.dept VALUES (1, 1)",
        "CREATE TABLE hr.scratch_1 (id int)",
        "INSERT INTO hr.emp VALUES (2, 'Bob', 200)",
        "ALTER TABLE hr.dept RENAME TO department",
        "ALTER TABLE hr.emp ADD phone text",
        "UPDATE hr.emp SET name = 'Bobby', phone = '1' WHERE id = 2",
    ])  # fmt: skip
    airflow.wait_for_dag(HR)
    airflow.command("dags", "unpause", HR, "--yes")
    airflow.command("dags", "trigger", HR, "--run-id", "first")
    assert airflow.wait_for_run(HR, "first", 420) == "success", airflow.task_logs()
    assert answers(target, "SELECT id, name, salary FROM backup.emp ORDER BY 1") == [(1, "Ada", 100), (2, "Bobby", 200)]
    assert answers(target, "SELECT id, boss FROM backup.department") == [(1, 1)]
    assert answers(target, "SELECT to_regclass('backup.scratch_1')::text") == [(None,)]
