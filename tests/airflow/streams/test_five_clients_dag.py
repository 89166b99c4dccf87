"""The example with five clients of Streams runs through its channel's DAG, on real databases with real Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.operators.streams.messages import DequeueOperator
from tests.airflow.support import shop
from tests.airflow.test_dag_run import run_dag
from tests.support.refusing import ask

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "streams" / "five_clients" / "hr.yml"
TASKS = [
    "capture",
    "sync_capture",
    "propagate.to_headquarters",
    "propagate.to_branch",
    "apply.headquarters",
    "apply.branch",
]


@pytest.mark.timeout(600)
def test_five_clients_run_in_the_channel_s_dag(
    pg18: PrivateServer,
    tmp_path: Path,
    channels_folder: Path,
    airflow_database: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places = {name: pg18.create_database(f"dag_{name}") for name in ("hr", "headquarters", "branch")}
    for name, url in places.items():
        monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}_DB", url)
    monkeypatch.setenv("HR_BRANCH_QUEUE", f"file://{tmp_path}/branch")
    channel = channels_folder / "hr.yml"
    channel.write_text(f"{EXAMPLE.read_text()}repository: sqlite:///{tmp_path}/hr.db\ntrail: {tmp_path}/trail\n")
    try:
        shop.run_sql(places["hr"], [
            "CREATE SCHEMA hr",
            "CREATE SCHEMA oe",
            "CREATE TABLE hr.employees (id int PRIMARY KEY, name text, department_id int, salary int)",
            "CREATE TABLE oe.orders (id int PRIMARY KEY, state text)",
            "INSERT INTO hr.employees VALUES (1, 'Ada', 50, 100)",
        ])  # fmt: skip
        (enrolled,) = run_dag("ddlrepl__hr__enroll", ["enroll"]).values()
        assert enrolled["refreshed"] == {"headquarters: staff.employees": 1, "branch: hr.employees": 1}
        shop.run_sql(places["hr"], [
            "INSERT INTO hr.employees VALUES (2, 'Bob', 80, 200)",
            "ALTER TABLE hr.employees ADD phone text",
            "UPDATE hr.employees SET phone = '1', department_id = 80 WHERE id = 1",
            "INSERT INTO oe.orders VALUES (1, 'new')",
        ])  # fmt: skip
        told = run_dag("ddlrepl__hr__replicate", TASKS)
        assert told["sync_capture"]["rows"] == {"order_capture": 1}
        assert told["propagate.to_headquarters"]["rows"] == {"to_headquarters": 2}
        assert told["propagate.to_branch"]["rows"] == {"to_branch": 1}
        assert told["apply.headquarters"]["waiting"] == told["apply.branch"]["waiting"] == {}
        query = "SELECT id, name, department_id, phone FROM staff.employees ORDER BY id"
        assert ask(places["headquarters"], query) == [(1, "Ada", 80, "1"), (2, "Bob", 80, None)]
        assert ask(places["branch"], "SELECT id FROM hr.employees") == []
        take = DequeueOperator(task_id="take", channel=str(channel), client="order_client", do_xcom_push=False)
        taken = take.execute({"run_id": "by hand"})  # type: ignore[typeddict-item]
        assert [(one["object"], one["new"]) for one in taken] == [("oe.orders", {"id": 1, "state": "new"})]
        again = run_dag("ddlrepl__hr__replicate", TASKS)
        assert [task for task, result in again.items() if result["worked"]] == ["sync_capture"]
    finally:
        channel.unlink()
        for url in places.values():
            pg18.drop_database(url.rpartition("/")[2])
