"""Whole DAG runs under a real scheduler, beside a DAG of as many tasks that do nothing in the same Airflow."""

from __future__ import annotations

import json
import os
import statistics
import time
import urllib.request
from collections.abc import Callable
from datetime import datetime
from typing import Any

from airflow_ddlrepl.demo.standalone import Standalone
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from benchmarks import ours
from benchmarks.pairs import Seconds
from benchmarks.ratios import Bench, check, databases

CHANNEL = "scheduled"
OURS = f"ddlrepl__{CHANNEL}__replicate"
EMPTY = "nothing"
PATIENCE = 300.0
RECOMMENDED = {"AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.2"}
# As many tasks as a cycle has, in the same form: four that run, and one that Airflow itself marks as done.
EMPTY_DAG = f"""from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, task

with DAG({EMPTY!r}, schedule=None, max_active_runs=1) as dag:

    @task
    def nothing():
        pass

    first = last = nothing.override(task_id="task_1")()
    for number in (2, 3, 4):
        following = nothing.override(task_id=f"task_{{number}}")()
        last >> following
        last = following
    last >> EmptyOperator(task_id="end")
"""
OUR_DAGS = """from airflow_ddlrepl import build_channel_dags

globals().update(build_channel_dags({channel!r}))
"""
TABLE = "CREATE TABLE public.item (id bigint PRIMARY KEY, name text)"


def runs(bench: Bench) -> list[Seconds]:
    """Empty, idle, three rows, ALTER with rows, in turns; the first round only warms up."""
    source, copy = databases(bench, CHANNEL, "copy")
    state = bench.target.create_database(f"{CHANNEL}_airflow")
    run_sql(source, TABLE)
    channel = ours.write_channel(bench.folder, CHANNEL, "*", source, copy)
    with ours.opened(channel, bench.runner) as mine:
        mine.activate()
    home = bench.folder / "scheduler"
    dags = home / "dags"
    dags.mkdir(parents=True)
    (dags / "nothing.py").write_text(EMPTY_DAG)
    (dags / "channels.py").write_text(OUR_DAGS.format(channel=str(channel)))
    found: dict[str, list[float]] = {}
    with Standalone(home, state, {"AIRFLOW__CORE__DAGS_FOLDER": str(dags), **of_the_scheduler()}) as airflow:
        bench.say("Airflow is up")
        client = Client(airflow)
        for dag in (EMPTY, OURS):
            airflow.wait_for_dag(dag)
            client.call(f"/api/v2/dags/{dag}", {"is_paused": False}, "PATCH")
        for number in range(bench.pairs + 1):
            for what, dag, prepare in rounds(source, number):
                prepare()
                seconds = client.run(dag, f"{what}_{number}")
                bench.say(f"{what} {number}/{bench.pairs}: {seconds:.1f} s; {client.parts(dag, f'{what}_{number}')}")
                if number:
                    found.setdefault(what, []).append(seconds)
    check(source, copy)
    return lines(found)


def of_the_scheduler() -> dict[str, str]:
    """Settings of Airflow's scheduler: as the README has them, unless the environment says otherwise.

    The environment's other settings of Airflow are not its.
    """
    given = {name: value for name, value in os.environ.items() if name.startswith("AIRFLOW__SCHEDULER__")}
    return {**RECOMMENDED, **given}


def rounds(source: str, number: int) -> list[tuple[str, str, Callable[[], None]]]:
    """What is measured, the DAG that does it, and what happens at the source before."""
    low = 10 * number
    rows = ", ".join(f"({low + i}, 'row {i}')" for i in range(1, 4))
    more = ", ".join(f"({low + i}, 'row {i}')" for i in range(4, 7))
    return [
        ("empty", EMPTY, lambda: None),
        ("idle", OURS, lambda: None),
        ("rows", OURS, lambda: run_sql(source, f"INSERT INTO public.item (id, name) VALUES {rows}")),
        (
            "alter",
            OURS,
            lambda: run_sql(
                source,
                f"ALTER TABLE public.item ADD COLUMN c{number} int DEFAULT {number}",
                f"INSERT INTO public.item (id, name) VALUES {more}",
            ),
        ),
    ]


def lines(found: dict[str, list[float]]) -> list[Seconds]:
    """Seconds, and how many times the empty DAG's each of ours are."""
    empty = statistics.median(found["empty"])
    names = {
        "idle": ("a DAG run with nothing new", 6.0),
        "rows": ("a DAG run with three rows", 9.0),
        "alter": ("a DAG run with an ALTER TABLE and three rows", 12.0),
    }
    table = [Seconds("a DAG of as many tasks that do nothing", 6.0, tuple(found["empty"]))]
    for what, (name, wanted) in names.items():
        table.append(Seconds(name, wanted, tuple(found[what])))
        table.append(Seconds(f"{name}: times the DAG that does nothing", 1.8, tuple(s / empty for s in found[what])))
    return table


def run_sql(dsn: str, *statements: str) -> None:
    with connect(dsn) as connection:
        for statement in statements:
            connection.execute(statement.encode())


class Client:
    """Triggers runs and waits for their end by the REST API, with one token."""

    def __init__(self, airflow: Standalone) -> None:
        self.airflow = airflow
        self.token = json.loads(airflow.read("/auth/token"))["access_token"]

    def call(self, path: str, body: Any = None, method: str = "GET") -> Any:
        """The answer's JSON."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(self.airflow.url + path, data=data, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read())

    def run(self, dag: str, run: str) -> float:
        """Seconds from the trigger to the end. Raises RuntimeError when the run fails."""
        self.call(f"/api/v2/dags/{dag}/dagRuns", {"dag_run_id": run, "logical_date": None}, "POST")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            time.sleep(0.5)
            found = self.call(f"/api/v2/dags/{dag}/dagRuns/{run}")
            if found["state"] == "success":
                return moment(found["end_date"]) - moment(found["queued_at"])
            if found["state"] == "failed":
                raise RuntimeError(f"{dag} {run} failed\n{self.airflow.task_logs()}")
        raise TimeoutError(f"{dag} {run}: not within {PATIENCE:.0f} s")

    def parts(self, dag: str, run: str) -> str:
        """When each task started and ended, in seconds since the run was triggered."""
        start = moment(self.call(f"/api/v2/dags/{dag}/dagRuns/{run}")["queued_at"])
        tasks = self.call(f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances")["task_instances"]
        done = sorted((one for one in tasks if one["start_date"]), key=lambda one: str(one["start_date"]))
        spans = ((one["task_id"], moment(one["start_date"]) - start, moment(one["end_date"]) - start) for one in done)
        return ", ".join(f"{name} {first:.1f}-{last:.1f}" for name, first, last in spans)


def moment(text: str) -> float:
    """Seconds since 1970 of an ISO moment."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
