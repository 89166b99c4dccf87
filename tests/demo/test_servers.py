"""The demo's private servers and its Airflow: what is missing is said."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from airflow_ddlrepl.demo import binaries
from airflow_ddlrepl.demo.airflow_database import isolate
from airflow_ddlrepl.demo.airflow_run import DagRunResult
from airflow_ddlrepl.demo.cycles import _replicate
from airflow_ddlrepl.demo.servers import PrivateServer
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
    with pytest.raises(ConfigError, match="CFG-190"):
        isolate(tmp_path)


def test_a_dag_run_that_fails_is_told_with_its_reasons() -> None:
    failed = DagRunResult(False, {}, {}, {"capture": "SRC-102: the slot is missing"})
    with pytest.raises(DdlReplError, match=r"DEM-101.*capture: SRC-102"):
        _replicate(lambda: failed, SimpleNamespace(folder="here"), 0, 0)  # type: ignore[arg-type]
