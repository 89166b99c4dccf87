"""A schema change at the source that somebody leaves open: no run waits for it without end, or for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.connection import connect
from airflow_ddlrepl.engines.postgres.source import activate
from airflow_ddlrepl.engines.postgres.source.member_cause import LATE
from airflow_ddlrepl.engines.postgres.source.source import PostgresSource
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file

OPEN = {
    "a member altered": "ALTER TABLE t ADD v int DEFAULT 7",
    "a member moved": "CREATE SCHEMA s2; ALTER TABLE t SET SCHEMA s2",
    "a bystander altered": "ALTER TABLE aside ADD v int DEFAULT 7",
    "a bystander renamed": "ALTER TABLE aside RENAME TO beside",
    "a bystander dropped": "DROP TABLE aside",
    "a table created": "CREATE TABLE u (n int)",
}
opened = pytest.mark.parametrize("statement", OPEN.values(), ids=OPEN)


@pytest.fixture
def replica(databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replica:
    file = channel_file(tmp_path, databases.source, databases.target, source={"tables": ["public.t"]})
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)", "CREATE TABLE aside (n int)")
    replica.activate()
    monkeypatch.setattr(connect, "LOCK_TIMEOUT", "300ms")
    monkeypatch.setattr(activate, "_FOR_A_MOMENT", ("SELECT set_config('lock_timeout', %s, true)", ["200ms"]))
    return replica


@pytest.fixture
def other(replica: Replica) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(replica.source) as connection:
        yield connection
        connection.rollback()  # it was not ended for us


@opened
def test_activate_and_replicate_wait_for_nobody(
    replica: Replica, other: psycopg.Connection[tuple[object, ...]], statement: str
) -> None:
    other.execute(statement.encode())
    replica.activate()
    replica.replicate()
    other.commit()
    replica.settle()


def test_a_table_that_was_published_late_is_loaded_while_somebody_alters_it(
    replica: Replica, other: psycopg.Connection[tuple[object, ...]]
) -> None:
    replica.at_source(f"UPDATE ddlrepl.member SET reason = '{LATE}' WHERE table_id = 't'::regclass")
    other.execute(OPEN["a member altered"])
    with suppress(SourceError):  # the load waits for the table itself, and says so
        replica.replicate()
    other.commit()
    assert "public.t" in replica.settle().refresh.tables
    assert replica.settle().refresh.tables == {}


def test_a_comparison_says_that_a_table_is_held(
    replica: Replica, other: psycopg.Connection[tuple[object, ...]]
) -> None:
    other.execute(OPEN["a member altered"])
    lines = [line for line in replica.compare().text().splitlines() if "SRC-180" in line]
    assert len(lines) == 1 and "the source's table can't be read" in lines[0] and "lock timeout" in lines[0]


@opened
def test_deactivate_says_who_holds_the_helper_schema(
    databases: Databases, replica: Replica, other: psycopg.Connection[tuple[object, ...]], statement: str
) -> None:
    other.execute(statement.encode())
    with flow.open_channel(replica.file, InProcess()) as run:
        source = run.source
        assert isinstance(source, PostgresSource)
        source.patience = 0.1
        with pytest.raises(SourceError, match=rf"SRC-109.*process {other.info.backend_pid} ") as caught:
            source.deactivate()
    assert caught.value.retryable
    other.rollback()
    with flow.open_channel(replica.file, InProcess()) as run:
        run.source.deactivate()
    with psycopg.connect(replica.source) as free:
        assert free.execute("SELECT to_regnamespace('ddlrepl')").fetchone() == (None,)
