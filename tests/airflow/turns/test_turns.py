"""Runs of one channel take turns in Airflow: a task that finds the channel locked waits, and is no failure."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowRescheduleException

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.hooks import turn
from airflow_ddlrepl.operators.backfill import ReplayOperator
from airflow_ddlrepl.operators.base import DdlReplSparkOperator
from airflow_ddlrepl.operators.refresh import RefreshOperator
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.repository import Repository
from tests.airflow.support import shop
from tests.airflow.test_dag_run import run_dag


@contextmanager
def held(channel: Path, what: str = "a long refresh") -> Iterator[threading.Event]:
    """Another run works on the channel until the event is set, or the block ends."""
    free, taken = threading.Event(), threading.Event()

    def work() -> None:
        with flow.RunContext(load_channel(channel), InProcess(), "manual__other") as run, run.locked(what):
            taken.set()
            free.wait(120)

    thread = threading.Thread(target=work)
    thread.start()
    assert taken.wait(30)
    try:
        yield free
    finally:
        free.set()
        thread.join()


class Task(SimpleNamespace):
    """As much of a task instance as the operators use."""

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value


def context(of: str = "manual") -> dict[str, Any]:
    end = datetime.now(UTC)
    return {"run_id": f"{of}__1", "ti": Task(pushed={}), "dag_run": SimpleNamespace(run_type=of, conf={}),
            "data_interval_end": end}  # fmt: skip


@pytest.fixture
def past(databases: Any) -> Iterator[str]:
    """The database of a replay."""
    name = f"past_{secrets.token_hex(4)}"
    yield databases.server.create_database(name)
    databases.server.drop_database(name)


@pytest.fixture
def channel(databases: Any, past: str, tmp_path: Path) -> Path:
    shop.run_sql(databases.source, shop.BEFORE)
    file = shop.write_channel(tmp_path, tmp_path, "turns", databases.source, databases.target, past)
    shop.activate(file)
    return file


def test_a_task_that_finds_the_channel_locked_is_started_again_later(
    channel: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(RefreshOperator, "turn_seconds", 0.6)
    monkeypatch.setattr(DdlReplSparkOperator, "_run_app", lambda *_: pytest.fail("an app was started"))
    now = context()
    with held(channel), pytest.raises(AirflowRescheduleException) as caught:
        RefreshOperator(task_id="refresh", channel=str(channel), tables="*.*").execute(now)
    assert timedelta(0) < caught.value.reschedule_date - datetime.now(UTC) <= turn.LATER
    waits = now["ti"].pushed["ddlrepl_waits_for"]
    assert waits["code"] == "LCK-101" and "a long refresh of run manual__other since" in waits["message"]
    assert "ddlrepl_error" not in now["ti"].pushed
    said = [line for line in caplog.messages if "a long refresh of run manual__other" in line]
    assert len(said) == 2  # when it begins to wait, and when it leaves


def test_an_app_that_came_too_late_is_no_failure(channel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run took the channel between the end of the wait and the start of the app."""
    monkeypatch.setattr("airflow_ddlrepl.flow.wait_for_turn", lambda *_: None)
    monkeypatch.setattr("airflow_ddlrepl.spark.jobs.run_stage.WAIT_SECONDS", 0.1)
    with held(channel), pytest.raises(AirflowRescheduleException):
        RefreshOperator(task_id="refresh", channel=str(channel), tables="*.*").execute(context())
    with Repository.open(load_channel(channel).repository) as repository:
        assert repository.errors("turns") == []


def test_a_replay_waits_in_its_worker_and_keeps_the_order_of_intervals(
    channel: Path, databases: Any, past: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.run_sql(databases.source, ["CREATE TABLE other (id int PRIMARY KEY)", "INSERT INTO other VALUES (1)"])
    shop.replicate(channel)
    replay = ReplayOperator(task_id="replay", channel=str(channel), into="past", tables="public.orders")
    found: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: found.append(replay.execute(context("backfill"))))
    monkeypatch.setattr("airflow_ddlrepl.hooks.local_app.can_fork", lambda: False)
    with held(channel) as free:
        thread.start()
        thread.join(3)
        assert thread.is_alive() and not found
        free.set()
        thread.join(120)
    assert found[0]["tables"] == ["public.orders"]
    assert shop.rows(past, "orders") == shop.rows(databases.source, "orders")


def test_a_cycle_that_meets_a_long_refresh_waits_and_then_succeeds(
    databases: Any,
    tmp_path: Path,
    channels_folder: Path,
    airflow_database: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With no retry at all, and without a triggerer."""
    monkeypatch.setattr(DdlReplSparkOperator, "turn_seconds", 0.5)
    monkeypatch.setattr(turn, "LATER", timedelta(seconds=2))
    shop.run_sql(databases.source, shop.BEFORE)
    channel = shop.write_channel(channels_folder, tmp_path, "turns_dag", databases.source, databases.target)
    try:
        shop.activate(channel)
        shop.run_sql(databases.source, shop.CHANGES)
        with held(channel) as free:
            threading.Timer(4, free.set).start()
            told = run_dag("ddlrepl__turns_dag__replicate")
        assert told["capture"]["rows"] > 0
        assert shop.rows(databases.target, "orders") == shop.rows(databases.source, "orders")
    finally:
        channel.unlink()
