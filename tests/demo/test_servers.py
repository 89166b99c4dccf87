"""The demo's private servers and its Airflow: what is missing is said."""

from __future__ import annotations

import sys
import venv
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Self

import pytest

from airflow_ddlrepl.demo import backfill_check, binaries
from airflow_ddlrepl.demo.airflow_database import isolate
from airflow_ddlrepl.demo.airflow_run import DagRunResult
from airflow_ddlrepl.demo.cycles import _replicate
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.demo.standalone import Standalone
from airflow_ddlrepl.errors import ConfigError, DdlReplError, Unreachable


def test_programs_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unreachable, match="CON-110") as caught:
        binaries.directory(9)
    assert caught.value.hint == "apt-get install postgresql-9"
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(Unreachable, match=r"CON-110.*embedded PostgreSQL 18"):
        binaries.directory(18)


def test_a_program_that_fails(tmp_path: Path) -> None:
    server = PrivateServer("target", 18)
    server.folder = tmp_path
    with pytest.raises(Unreachable, match=r"CON-111.*sh of PostgreSQL 18 fails: no"):
        server._run(["/bin/sh", "-c", "echo no >&2; exit 3"])


def test_a_server_that_is_closed() -> None:
    with pytest.raises(Unreachable, match="CON-112"):
        _ = PrivateServer("target", 18).data


def test_an_airflow_that_is_there_already(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "airflow", sys)
    monkeypatch.setenv("AIRFLOW_HOME", "elsewhere")
    with pytest.raises(ConfigError, match="DEM-105"):
        isolate(tmp_path)


def test_a_dag_run_that_fails_is_told_with_its_reasons() -> None:
    failed = DagRunResult(False, {}, {}, {"capture": "SRC-102: the slot is missing"})
    with pytest.raises(DdlReplError, match=r"DEM-101.*capture: SRC-102"):
        _replicate(lambda: failed, SimpleNamespace(folder="here"), 0, 0)  # type: ignore[arg-type]


@pytest.fixture
def without_airflow(tmp_path: Path) -> str:
    """A Python where Airflow is not installed."""
    venv.create(tmp_path / "venv", with_pip=False)
    return str(tmp_path / "venv" / "bin" / "python")


def test_an_airflow_command_that_fails(tmp_path: Path, without_airflow: str) -> None:
    airflow = Standalone(tmp_path, "postgresql://nowhere/state", {}, without_airflow)
    with pytest.raises(DdlReplError, match=r"DEM-102: airflow dags unpause shop failed: .*No module named airflow"):
        airflow.command("dags", "unpause", "shop")


def test_an_airflow_that_ends_at_once(tmp_path: Path, without_airflow: str) -> None:
    with (
        pytest.raises(DdlReplError, match=r"DEM-103: airflow standalone has ended: .*No module named airflow"),
        Standalone(tmp_path, "postgresql://nowhere/state", {}, without_airflow),
    ):
        pytest.fail("it does not run")


def test_a_backfill_that_fails_is_told_with_its_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(Standalone):
        """Its backfill's first interval fails."""

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def wait_for_dag(self, dag_id: str, schedule: str = "") -> None:
            pass

        def wait_for_interval(self, dag_id: str, end: datetime, seconds: float) -> None:
            pass

        def command(self, *arguments: str) -> str:
            return ""

        def backfill(self, dag_id: str, start: datetime, last: datetime, seconds: float) -> dict[str, str]:
            return {"one": "failed", "two": "success"}

        def task_logs(self) -> str:
            return "replay: REW-105"

    monkeypatch.setattr(backfill_check, "Standalone", Failing)
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(tmp_path))
    channel = tmp_path / "demo.yml"
    with pytest.raises(DdlReplError, match=r"DEM-104: the backfill ended with .*'failed'.*: replay: REW-105"):
        backfill_check.backfill(channel, "postgresql://state", "source", "past", datetime.now(UTC))
