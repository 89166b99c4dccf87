"""A target that is added to the file between two runs of a channel's DAG."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.spark.jobs.result_file import Outcome
from airflow_ddlrepl.spark.jobs.run_stage import run_stage
from tests.airflow.support import shop
from tests.airflow.test_dag_run import the_dag
from tests.support.refusing import ask

NAME = "growing"


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """What spark-submit would start runs in this process."""

    def submit(hook: SparkSubmitHook, application: str = "", **_: Any) -> None:
        told = dict(str(word).partition("=")[::2] for word in hook._application_args)
        stage = {"adapt_ddl": "adapt"}.get(Path(application).stem, Path(application).stem)
        channel, run = load_channel(Path(told["--channel"])), told["--run"]
        try:
            outcome = Outcome(stage, NAME, run, 0.1, run_stage(stage, channel, run, InProcess()))
        except DdlReplError as error:
            outcome = Outcome(stage, NAME, run, 0.1, {}, error)
        outcome.write(Path(told["--result"]))

    monkeypatch.setattr(SparkSubmitHook, "submit", submit)


@pytest.fixture
def file(
    databases: Any, tmp_path: Path, channels_folder: Path, airflow_database: None, no_spark: None
) -> Iterator[Path]:
    """The file of a channel that is active with one target."""
    file = shop.write_channel(channels_folder, tmp_path, NAME, databases.source, databases.target)
    shop.run_sql(databases.source, shop.BEFORE)
    shop.activate(file)
    yield file
    file.unlink()


@pytest.fixture
def second(databases: Any) -> Iterator[str]:
    name = f"second_{databases.source.rpartition('/')[2]}"
    yield databases.server.create_database(name)
    databases.server.drop_database(name)


def add_target(file: Path, location: str, more: str = "") -> None:
    text = file.read_text()
    assert "adapt_ddl:\n" in text
    added = f"  - name: second\n    location: {location}\n"
    file.write_text(text.replace("adapt_ddl:\n", f"{added}{more}adapt_ddl:\n"))


def run_dag() -> tuple[dict[str, str], Callable[[str, str], Any]]:
    """Runs the channel's DAG; each task's state, and what pulls an XCom of a task."""
    dag = the_dag(f"ddlrepl__{NAME}__replicate")
    for task in dag.tasks:
        task.retries = 0
    tasks = {ti.task_id: ti for ti in dag.test().get_task_instances()}
    states = {name: str(ti.state) for name, ti in tasks.items() if name != "end"}
    return states, lambda task, key: tasks[task].xcom_pull(task_ids=task, key=key)


def test_the_next_run_loads_it(databases: Any, file: Path, second: str) -> None:
    add_target(file, second)
    shop.run_sql(databases.source, shop.CHANGES)
    states, pull = run_dag()
    assert set(states.values()) == {"success"}
    assert "2 tables wait for their rows" in pull("adapt", "return_value")["new_targets"]["second"]
    assert pull("integrate", "status")["targets"]["second"]["position"]
    query = "select * from orders order by id"
    assert ask(second, query) == ask(databases.target, query) == ask(databases.source, query)


def test_it_does_not_answer(databases: Any, file: Path) -> None:
    """The healthy target gets its rows, and the run has failed by the other one's name."""
    add_target(file, "postgresql://nobody@127.0.0.1:1/nowhere")
    shop.run_sql(databases.source, shop.CHANGES)
    states, pull = run_dag()
    assert states == {"capture": "success", "adapt": "failed", "refresh": "success", "integrate": "success"}
    error = pull("adapt", "ddlrepl_error")
    assert error["code"] == "CON-101" and error["message"].startswith("target second: ")
    query = "select * from orders order by id"
    assert ask(databases.target, query) == ask(databases.source, query)


def test_it_waits_for_the_enroll_dag(databases: Any, file: Path, second: str) -> None:
    add_target(file, second, "new_targets: wait\n")
    shop.run_sql(databases.source, shop.CHANGES)
    states, pull = run_dag()
    assert set(states.values()) == {"success"}
    assert "waits for `ddlrepl activate`" in pull("integrate", "status")["targets"]["second"]["missing"]
    shop.activate(file)
    states, pull = run_dag()
    assert set(states.values()) == {"success"}
    query = "select * from orders order by id"
    assert ask(second, query) == ask(databases.target, query) == ask(databases.source, query)
