"""Controls through an approval: what a person is shown is what is removed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_ddlrepl import build_channel_dags, flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ControlStop
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.operators.controls import ExplainControlsOperator, RemoveControlsOperator
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.rows import ControlRow
from tests.airflow.support import shop
from tests.airflow.test_dag_run import the_dag

BREAKS = "adapt_ddl:\n  - on_enroll_break: FAIL_INTEG_JOB\n"
CHANGE = "ALTER TABLE orders ALTER note TYPE varchar(9) USING left(note, 9)"


@dataclass
class Task:
    """As much of a task instance as the operators use."""

    pushed: dict[str, Any] = field(default_factory=dict)

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value


def breaking(folder: Path, state: Path, name: str, source: str, target: str) -> Path:
    """A channel file with a breakpoint."""
    file = shop.write_channel(folder, state, name, source, target)
    file.write_text(file.read_text().replace("adapt_ddl:\n", BREAKS))
    return file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return breaking(tmp_path, tmp_path, "shop", "shop_db", "warehouse_db")


def stop(file: Path, *places: int, reason: str = "type change") -> None:
    """The target waits at these positions."""
    channel = load_channel(file)
    with Repository.open(channel.repository) as repository:
        repository.ensure_channel(channel.name, "f")
        with repository.lock(channel.name, "test") as lock:
            for place in places:
                key = LogKey(place, 0)
                repository.add_control(channel.name, lock.token, "warehouse", key, reason, "OnEnrollBreak")


def holding(file: Path) -> list[ControlRow]:
    channel = load_channel(file)
    with Repository.open(channel.repository) as repository:
        return repository.controls(channel.name)


def explain(file: Path, control: str = "") -> tuple[list[dict[str, Any]], str]:
    """What the task returns, and what a person reads."""
    task = Task()
    found = ExplainControlsOperator(task_id="explain", channel=str(file), control=control).execute({"ti": task})
    return found, task.pushed["text"]


def remove(file: Path, seen: list[dict[str, Any]]) -> dict[str, Any]:
    return RemoveControlsOperator(task_id="remove", channel=str(file), controls=seen).execute({"ti": Task()})


def test_controls_are_explained_approved_and_removed(file: Path) -> None:
    """Nobody answers: they stay."""
    dag = build_channel_dags(file)["ddlrepl__shop__controls"]
    order = [task.task_id for task in dag.topological_sort()]
    assert order == ["explain", "approve", "remove"]
    assert dag.get_task("remove").upstream_task_ids == {"explain", "approve"}
    approve = dag.get_task("approve")
    assert (approve.defaults, approve.response_timeout) == (["Reject"], timedelta(days=1))
    assert (dag.timetable.can_be_scheduled, dag.is_paused_upon_creation) == (False, True)
    assert dag.params.validate() == {"control": None}


@pytest.mark.parametrize(
    ("policy", "is_there"),
    [
        ("on_enroll_break: FAIL_INTEG_JOB", True),
        ("on_add_column_with_default: fail_integ_job", True),
        ("on_enroll_break: REFRESH", False),
    ],
)
@pytest.mark.parametrize("place", ["adapt_ddl: [{%s}]", "replays: [{name: past, location: p, adapt_ddl: [{%s}]}]"])
def test_the_dag_is_there_where_a_policy_can_stop(tmp_path: Path, policy: str, is_there: bool, place: str) -> None:
    file = shop.write_channel(tmp_path, tmp_path, "shop", "shop_db", "warehouse_db")
    text = file.read_text().replace('adapt_ddl:\n  - add_table_pattern: "*"', place % policy)
    file.write_text(text + "rewind_horizon: {age: 7d}\n")
    assert ("ddlrepl__shop__controls" in build_channel_dags(file)) is is_there


def test_exactly_what_was_shown_is_removed(file: Path) -> None:
    stop(file, 0x100, 0x200)
    seen, text = explain(file)
    assert [one["at"] for one in seen] == ["0/100", "0/200"]
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert [(row[0], *row[1:3], *row[4:]) for row in rows[-2:]] == [
        ("| 1", "`warehouse`", "`0/100`", "type change", "OnEnrollBreak |"),
        ("| 2", "`warehouse`", "`0/200`", "type change", "OnEnrollBreak |"),
    ]
    stop(file, 0x300)
    assert remove(file, seen) == {"removed": [1, 2]}
    assert [row.id for row in holding(file)] == [3]
    assert remove(file, seen) == {"removed": [1, 2]}
    assert [row.id for row in holding(file)] == [3]


@pytest.mark.parametrize(
    ("approval", "by"),
    [
        ({"chosen_options": ["Approve"], "responded_by_user": {"id": "7", "name": "anna"}}, "anna"),
        ({"chosen_options": ["Approve"], "responded_by_user": {"id": "7", "name": ""}}, "7"),
        ({"chosen_options": ["Approve"], "responded_by_user": None}, ""),
        (None, ""),
    ],
)
def test_who_approved_is_stored(file: Path, approval: dict[str, Any] | None, by: str) -> None:
    """Airflow says it in what the approval returns; a task that somebody marked as done returns nothing."""
    stop(file, 0x100)
    seen, _ = explain(file)
    remove_it = RemoveControlsOperator(task_id="remove", channel=str(file), controls=seen, approval=approval)
    remove_it.execute({"ti": Task()})
    channel = load_channel(file)
    with Repository.open(channel.repository) as repository:
        (row,) = repository.controls(channel.name, removed=True)
    assert (row.removed_by or "") == by
    dag = build_channel_dags(file)["ddlrepl__shop__controls"]
    assert dag.get_task("remove").approval.operator is dag.get_task("approve")


def test_one_is_asked_for(file: Path) -> None:
    stop(file, 0x100, 0x200)
    seen, text = explain(file, "2")
    assert [one["id"] for one in seen] == [2] and "| 1 |" not in text
    remove(file, seen)
    assert [row.id for row in holding(file)] == [1]


@pytest.mark.parametrize(
    ("control", "told"),
    [
        ("", "CTL-103: no target of channel shop waits"),
        ("1", "CTL-103: control 1 is removed already"),
        ("7", "CTL-102: channel shop has no control 7"),
        ("all", "CTL-102: 'all' is no control's number"),
    ],
)
def test_nothing_to_remove_is_told(file: Path, control: str, told: str) -> None:
    stop(file, 0x100)
    remove(file, explain(file)[0])
    with pytest.raises(AirflowFailException, match=told):
        explain(file, control)


def test_a_control_of_a_channel_that_began_anew_is_another_one(file: Path) -> None:
    stop(file, 0x100)
    seen, _ = explain(file)
    (database,) = file.parent.glob("shop.db")
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE controls SET lsn = lsn + 1")
    with pytest.raises(AirflowFailException, match=r"CTL-104.*not the one that was shown"):
        remove(file, seen)
    assert [row.id for row in holding(file)] == [1]


def test_a_repository_that_is_away_is_tried_again(file: Path) -> None:
    file.write_text(file.read_text().replace(f"sqlite:///{file.parent}/shop.db", "postgresql://u:p@127.0.0.1:1/r"))
    with pytest.raises(AirflowException, match="CON-") as caught:
        explain(file)
    assert not isinstance(caught.value, AirflowFailException)


@pytest.fixture
def stopped(
    databases: Any, tmp_path: Path, channels_folder: Path, airflow_database: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A channel that waits in front of CHANGE."""
    monkeypatch.setenv("AIRFLOW_CONN_CONTROLS_SOURCE", databases.source)
    monkeypatch.setenv("AIRFLOW_CONN_CONTROLS_TARGET", databases.target)
    file = breaking(channels_folder, tmp_path, "controls", "controls_source", "controls_target")
    shop.run_sql(databases.source, shop.BEFORE)
    shop.activate(file)
    shop.run_sql(databases.source, [CHANGE, "INSERT INTO orders VALUES (51, 'after')"])
    with flow.open_channel(file, InProcess()) as cycle, pytest.raises(ControlStop):
        flow.replicate(cycle)
    yield file
    file.unlink()


@pytest.mark.req("HVR-P-36", "XR-07")
def test_an_approved_run_lets_the_target_go_on(stopped: Path, databases: Any) -> None:
    dag = the_dag("ddlrepl__controls__controls")
    for task in dag.tasks:
        task.retries = 0
    other = dag.test(run_conf={"control": 2}, mark_success_pattern="approve")
    assert str(other.state) == "failed" and len(holding(stopped)) == 1
    run = dag.test(run_conf={"control": 1}, mark_success_pattern="approve")
    tasks = {ti.task_id: ti for ti in run.get_task_instances()}
    assert {name: str(ti.state) for name, ti in tasks.items()} == dict.fromkeys(tasks, "success")
    text = tasks["explain"].xcom_pull(task_ids="explain", key="text")
    assert "revision 1 of `public.orders`: `change_type note text -> character varying(9) (narrow)`" in text
    assert f"```sql\n{CHANGE}\n```" in text
    assert tasks["remove"].xcom_pull(task_ids="remove") == {"removed": [1]}
    with flow.open_channel(stopped, InProcess()) as cycle:
        flow.replicate(cycle)
    assert shop.rows(databases.target, "orders")[-1] == (51, "after")
