"""`airflow ddlrepl` finds the connections that a user gave to Airflow: real commands, a real metadata database."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.sections.location import resolve
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hooks.connections import connections_file
from tests.airflow.conftest import airflow_environment
from tests.airflow.support import shop

BACKEND = "airflow.secrets.local_filesystem.LocalFilesystemBackend"


class Airflow:
    """An Airflow of its own: the commands that a user types, in a home whose database is migrated."""

    def __init__(self, home: Path, more: Mapping[str, str]) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "DDLREPL"))}
        self.environment = {**clean, **airflow_environment(home, home / "channels"), **more}
        assert self("db", "migrate").returncode == 0

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "airflow", *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=180)


@pytest.mark.timeout(600)
def test_commands_read_connections_of_the_metadata_database_and_of_a_secrets_backend(
    databases: Any, tmp_path: Path
) -> None:
    secrets = tmp_path / "secrets.json"
    secrets.write_text(json.dumps({"warehouse_db": databases.target}))
    airflow = Airflow(
        tmp_path / "home",
        {
            "AIRFLOW__SECRETS__BACKEND": BACKEND,
            "AIRFLOW__SECRETS__BACKEND_KWARGS": json.dumps({"connections_file_path": str(secrets)}),
        },
    )
    channel = str(shop.write_channel(tmp_path, tmp_path, "shop", "shop_db", "warehouse_db"))
    shop.run_sql(databases.source, shop.BEFORE)

    missing = airflow("ddlrepl", "doctor", "--json", channel)
    assert missing.returncode == 1
    (bad,) = [finding for finding in json.loads(missing.stdout) if not finding["ok"]]
    assert bad["what"] == "source (shop_db)" and "metadata database" in bad["detail"]
    assert bad["fix"].startswith("airflow connections add shop_db --conn-uri")

    added = airflow("connections", "add", "shop_db", "--conn-uri", databases.source.replace("postgresql:", "postgres:"))
    assert added.returncode == 0, added.stderr
    for command in ("doctor", "activate"):
        done = airflow("ddlrepl", command, channel)
        assert done.returncode == 0, done.stdout + done.stderr
    assert shop.rows(databases.target, "orders") == shop.rows(databases.source, "orders")
    assert databases.server.password not in done.stdout + done.stderr


@pytest.fixture
def channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DDLREPL_CONNECTIONS_FILE", raising=False)
    return shop.write_channel(tmp_path, tmp_path, "shop", "shop_db", "warehouse_db")


def one(name: str) -> Any | None:
    """An Airflow that has one connection."""
    fields = {"conn_type": "postgres", "host": "db", "login": "app", "password": "p@ss", "port": None, "schema": "shop"}
    return SimpleNamespace(**fields, extra=None) if name == "shop_db" else None


def test_processes_that_a_command_starts_get_a_file_that_nobody_else_can_read(channel: Path) -> None:
    ask = "import os; from airflow_ddlrepl.config.sections.location import resolve; print(resolve('shop_db'))"
    with connections_file(load_channel(channel), one) as path:
        assert path is not None and stat.S_IMODE(path.stat().st_mode) == 0o600
        told = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
        assert told.stdout.strip() == "postgresql://app:p%40ss@db/shop"
        with pytest.raises(ConfigError, match="'warehouse_db': Airflow has none in its secrets backends") as caught:
            resolve("warehouse_db")
        assert "airflow connections add warehouse_db" in caught.value.hint
    assert not path.exists() and "DDLREPL_CONNECTIONS_FILE" not in os.environ


def test_a_connection_that_airflow_lacks_is_taken_from_the_users_own_file(
    channel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "connections"
    own.write_text("warehouse_db=postgresql://dw@there/warehouse\nshop_db=postgresql://not@this/one\n")
    own.chmod(0o600)
    monkeypatch.setenv("DDLREPL_CONNECTIONS_FILE", str(own))
    with connections_file(load_channel(channel), one):
        assert resolve("warehouse_db") == "postgresql://dw@there/warehouse"
        assert resolve("shop_db") == "postgresql://app:p%40ss@db/shop"
    assert os.environ["DDLREPL_CONNECTIONS_FILE"] == str(own)


def test_without_airflow_the_error_says_where_it_looked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DDLREPL_CONNECTIONS_FILE", raising=False)
    with pytest.raises(ConfigError, match="AIRFLOW_CONN_SHOP_DB is not set, and DDLREPL_CONNECTIONS_FILE names no"):
        resolve("shop_db")
    file = tmp_path / "connections"
    file.write_text("{}")
    file.chmod(0o600)
    monkeypatch.setenv("DDLREPL_CONNECTIONS_FILE", str(file))
    with pytest.raises(ConfigError, match=rf"the file {file} .* has no connection of that name") as caught:
        resolve("shop_db")
    assert "airflow connections add shop_db" in caught.value.hint and "airflow ddlrepl" in caught.value.hint
