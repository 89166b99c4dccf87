"""Run a real `airflow standalone` (scheduler, DAG processor, triggerer, API server) in a private home on free ports.

Its database is PostgreSQL: Airflow has no backfills on SQLite, which locks.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from airflow_ddlrepl.errors import DdlReplError


def free_ports(count: int) -> list[int]:
    """Return that many TCP ports that were free just now."""
    holders = [socket.socket() for _ in range(count)]
    for holder in holders:
        holder.bind(("127.0.0.1", 0))
    ports = [holder.getsockname()[1] for holder in holders]
    for holder in holders:
        holder.close()
    return ports


def wait_for(what: str, look: Callable[[], Any], seconds: float, still: Callable[[], None]) -> Any:
    """Return the result of `look` as soon as it is true. Raises TimeoutError.

    still: called before each look; it raises when waiting makes no sense any more.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        still()
        found = look()
        if found:
            return found
        time.sleep(1)
    raise TimeoutError(f"{what}: not within {seconds:.0f} s")


@dataclass(frozen=True)
class Login:
    """A login is a user of Airflow's simple auth manager, and the password."""

    user: str
    password: str = field(repr=False)


class Standalone:
    """This Airflow runs as `with Standalone(home, database, environment) as airflow`; its processes end with the block.

    database: libpq URL of an empty one. environment: more variables; of this process's, those of its own Airflow are
    left out. python: of the environment in which Airflow is installed. login: None: everybody is an administrator.
    """

    def __init__(
        self,
        home: Path,
        database: str,
        environment: Mapping[str, str],
        python: str = sys.executable,
        login: Login | None = None,
    ) -> None:
        self.home, self.python, self.login = home, python, login
        port, worker_logs, trigger_logs = free_ports(3)
        self.url = f"http://127.0.0.1:{port}"
        state = database.replace("postgresql://", "postgresql+psycopg://")
        own = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
        self.environment = {
            **own,
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": state,
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": state,
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(worker_logs),
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(trigger_logs),
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
            "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
            "AIRFLOW__CORE__PARALLELISM": "2",
            "AIRFLOW__API__WORKERS": "1",
            "PATH": os.pathsep.join([str(Path(python).parent), os.environ["PATH"]]),
            **environment,
        }
        self.log = home / "standalone.log"

    def __enter__(self) -> Self:
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [self.python, "-m", "airflow", "standalone"],
                env=self.environment, stdout=log, stderr=subprocess.STDOUT, cwd=self.home, start_new_session=True,
            )  # fmt: skip
        try:
            wait_for("airflow standalone", self._is_healthy, 240, self._still_runs)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()

    def command(self, *arguments: str) -> str:
        """Run `airflow …` as a user types it, and return what it prints. Raises DdlReplError DEM-102."""
        done = subprocess.run(
            [self.python, "-m", "airflow", *arguments],
            env=self.environment, capture_output=True, text=True, timeout=180,
        )  # fmt: skip
        if done.returncode:
            raise DdlReplError(f"airflow {' '.join(arguments)} failed: {done.stderr[-3000:]}", code="DEM-102")
        return done.stdout

    def get(self, path: str) -> Any:
        """Return JSON of the REST API; None while there is none."""
        try:
            token = self._token()
            return json.loads(self.read(path, token))
        except (urllib.error.URLError, ConnectionError, TimeoutError, ValueError):
            return None

    def _token(self) -> str:
        """Log in, and return the token for the REST API."""
        login = self.login
        sent = None if login is None else json.dumps({"username": login.user, "password": login.password}).encode()
        answer = json.loads(self.read("/auth/token", change=sent, method="GET" if login is None else "POST"))
        return str(answer["access_token"])

    def wait_for_answer(self, path: str) -> Any:
        """Return JSON of the REST API; a server that is busy is asked again for two minutes."""
        return wait_for(path, lambda: self.get(path), 120, self._still_runs)

    def wait_for_dag(self, dag_id: str, schedule: str = "") -> None:
        """Wait until Airflow knows the DAG. schedule: a part of its timetable as it is shown."""

        def is_known() -> bool:
            dag = self.get(f"/api/v2/dags/{dag_id}")
            return bool(dag) and schedule in (dag["timetable_summary"] or "")

        wait_for(dag_id, is_known, 180, self._still_runs)

    def wait_for_interval(self, dag_id: str, end: datetime, seconds: float) -> None:
        """Wait until the scheduled run of the interval that ends then is over."""

        def is_over() -> bool:
            runs = (self.get(f"/api/v2/dags/{dag_id}/dagRuns?run_type=scheduled") or {}).get("dag_runs", ())
            ends = {run["data_interval_end"]: run["state"] for run in runs}
            return ends.get(end.isoformat().replace("+00:00", "Z")) in ("success", "failed")

        wait_for(f"{dag_id} up to {end}", is_over, seconds, self._still_runs)

    def backfill(self, dag_id: str, start: datetime, last: datetime, seconds: float) -> dict[str, str]:
        """Run `airflow backfill create` for the intervals that start in between; return each run's final state."""
        span = ("--from-date", start.isoformat(), "--to-date", last.isoformat())
        again = ("--reprocess-behavior", "completed")
        self.command("backfill", "create", "--dag-id", dag_id, *span, *again, "--max-active-runs", "1")
        path = f"/api/v2/dags/{dag_id}/dagRuns?run_type=backfill"
        found = (self.get(path) or {})["dag_runs"]
        return {
            run["dag_run_id"]: self.wait_for_run(dag_id, run["dag_run_id"], seconds)
            for run in sorted(found, key=lambda run: str(run["logical_date"]))
        }

    def wait_for_run(
        self, dag_id: str, run_id: str, seconds: float, meanwhile: Callable[[], None] = lambda: None
    ) -> str:
        """Wait for the end of a run and return its state. meanwhile: what is done every second."""

        def final() -> str | None:
            meanwhile()
            run = self.get(f"/api/v2/dags/{dag_id}/dagRuns/{run_id}") or {}
            return str(run["state"]) if run.get("state") in ("success", "failed") else None

        try:
            return str(wait_for(f"{dag_id} {run_id}", final, seconds, self._still_runs))
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self._states(dag_id, run_id)}\n{self.task_logs()}") from None

    def _states(self, dag_id: str, run_id: str) -> str:
        found = self.get(f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances") or {}
        return ", ".join(f"{task['task_id']} {task['state']}" for task in found.get("task_instances", ()))

    def task_logs(self) -> str:
        """Return the end of every task's log, for a failing test."""
        logs = sorted((self.home / "logs").rglob("attempt=*.log"))
        return "\n".join(f"{file.parent.name}\n{file.read_text()[-3000:]}" for file in logs)

    def read(self, path: str, token: str = "", change: bytes | None = None, method: str = "") -> bytes:
        """Return the answer of the REST API. change: sent with PATCH, or the method."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        how = method or ("GET" if change is None else "PATCH")
        request = urllib.request.Request(self.url + path, data=change, headers=headers, method=how)
        with urllib.request.urlopen(request, timeout=20) as answer:
            content: bytes = answer.read()
        return content

    def _is_healthy(self) -> bool:
        parts = self.get("/api/v2/monitor/health") or {}
        wanted = ("metadatabase", "scheduler", "dag_processor")
        return all((parts.get(name) or {}).get("status") == "healthy" for name in wanted)

    def _still_runs(self) -> None:
        if self.process.poll() is not None:
            raise DdlReplError(f"airflow standalone has ended: {self.log.read_text()[-3000:]}", code="DEM-103")

    def _stop(self) -> None:
        """End all processes: SIGTERM, then SIGKILL for the whole group.

        After SIGTERM the parent may wait for children that are gone.
        """
        for sent, patience in ((signal.SIGTERM, 20), (signal.SIGKILL, 20)):
            try:
                os.killpg(self.process.pid, sent)
                self.process.wait(patience)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
        self.process.wait(20)
