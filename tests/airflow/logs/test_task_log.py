"""A task's log: lines of an app have their level, a hint stands there once, results need no knowledge of the code."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_ddlrepl.flow.run.results import Activated, Refreshed
from airflow_ddlrepl.flow.streams.instantiation.instantiate import Instantiated
from airflow_ddlrepl.flow.streams.propagation import Propagated
from airflow_ddlrepl.flow.streams.sync_capture import SyncCaptured
from airflow_ddlrepl.hooks.app_lines import AppLines
from airflow_ddlrepl.model.position import LAST_IN_TRANSACTION, LogKey, Position
from airflow_ddlrepl.operators.messages.failure import log_lines
from airflow_ddlrepl.operators.refresh import RefreshOperator
from airflow_ddlrepl.spark.jobs.result_file import Outcome
from tests.airflow.support import shop


def test_each_line_of_an_app_has_the_level_that_the_app_gave_it(caplog: pytest.LogCaptureFixture) -> None:
    log = AppLines(logging.getLogger("spark.hook"))
    with caplog.at_level(logging.DEBUG):
        for line in (
            "2026-11-27 11:30:00,123 INFO loaded public.t",
            "2026-11-27 11:30:01,123 ERROR target warehouse: 100% of public.t is suspended",
            "hint: refresh it",
            "26/11/27 11:30:02 WARN Utils: a name of Spark's",
            "2026-11-27 11:30:03,123 WARNING values are lost",
            "2026-11-27 11:30:04,123 INFO a word: ERROR",
        ):
            log.info(line)
        log.info("identified spark driver id: %s", "driver-1")
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("INFO", "loaded public.t"),
        ("ERROR", "target warehouse: 100% of public.t is suspended"),
        ("ERROR", "hint: refresh it"),
        ("WARNING", "26/11/27 11:30:02 WARN Utils: a name of Spark's"),
        ("WARNING", "values are lost"),
        ("INFO", "a word: ERROR"),
        ("INFO", "identified spark driver id: driver-1"),
    ]


@pytest.mark.parametrize("submitted", ["cluster", "always"])
def test_the_hint_of_a_failure_stands_in_the_task_s_log_once(
    databases: Any,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    submitted: str,
) -> None:
    """Of an app that Python starts, and of one that spark-submit does. Airflow logs the exception."""
    monkeypatch.setenv("AIRFLOW__DDLREPL__SPARK_SUBMIT", submitted)
    shop.run_sql(databases.source, shop.BEFORE)
    file = shop.write_channel(tmp_path, tmp_path, "hints", databases.source, databases.target)
    shop.activate(file)
    task = SimpleNamespace(xcom_push=lambda **_: None)
    with caplog.at_level(logging.INFO), pytest.raises(AirflowFailException) as failure:
        RefreshOperator(task_id="refresh", channel=str(file), tables="no.where").execute({"run_id": "r", "ti": task})
    hint = str(failure.value).partition("hint: ")[2]
    assert hint and str(failure.value).count(hint) == 1
    assert not [line for line in caplog.messages if hint in line]
    said = [one for one in caplog.records if "no.where" in one.getMessage() and "--table" not in one.getMessage()]
    assert [one.levelname for one in said] == ["ERROR"]


def test_results_say_only_what_happened_in_words_of_the_field() -> None:
    found = Activated(Position(16), ("public.t",), {"public.t": 3}).text()
    assert found.splitlines() == [
        "captured from position: 0/10",
        "tables: public.t",
        "tables loaded, and their rows: public.t 3",
    ]
    assert Refreshed({}, {}, 0.0).text() == "there was nothing to do"
    done = Activated(Position(16), contradicted={"public.t": ["column a"]}, reread=2)
    lines = list(log_lines(Outcome("activate", "shop", "r", 1.0, done.to_json())))
    assert lines[2:] == [
        "  tables of another shape than the captured schema changes give, enrolled as they are now: public.t column a",
        "  pieces of the trail that were captured again: 2",
    ]


def test_what_clients_of_streams_did_is_said_in_words_of_theirs() -> None:
    passed = Propagated({"to_q2": 3}, 1, {"to_q2": Position(16)}, migrated={"to_q2": 2}, bytes={"to_q2": 90})
    assert passed.text().splitlines() == [
        "rows: to_q2 3",
        "pieces of log written: 1",
        "done up to position: to_q2 0/10",
        "bytes written into queues: to_q2 90",
        "updates that subset rules made inserts or deletes of: to_q2 2",
    ]
    captured = SyncCaptured({"sync": 2}, truncated=("hr.t",)).text()
    assert "tables emptied by a TRUNCATE, which is not captured: hr.t" in captured
    loaded = Instantiated("site2", {"hr.t": 1}, outside={"hr.u": 4}, uncaptured=("hr.v",)).text()
    assert "rows at the target that its rules do not take: hr.u 4" in loaded
    assert "tables that lack changes which triggers did not capture: hr.v" in loaded


def test_a_place_in_the_log_that_means_a_whole_transaction_has_no_number_behind_it() -> None:
    shown = [str(LogKey(16, number)) for number in (-1, 0, 2, LAST_IN_TRANSACTION)]
    assert shown == ["0/10", "0/10+0", "0/10+2", "0/10"]
