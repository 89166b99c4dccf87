"""What a database says for all its sessions, timeouts and how values are spelled, is not meant for ours."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.connect import parameters, session
from airflow_ddlrepl.engines.postgres.load import loading
from airflow_ddlrepl.engines.postgres.swap import FinishTask, finish_shadow
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.work import InProcess
from tests.live.replica import Replica, channel_file, run

both = pytest.mark.parametrize("databases", [18, 15], indirect=True)
SETTINGS = {
    "array_nulls": "off",
    "datestyle": "german",
    "intervalstyle": "sql_standard",
    "bytea_output": "escape",
    "timezone": "Asia/Kathmandu",
    "extra_float_digits": "-15",
    "transform_null_equals": "on",
    "quote_all_identifiers": "on",
    "default_transaction_isolation": "serializable",
    "default_transaction_deferrable": "on",
}
COLUMNS = "id int primary key, a text[], i int[], d date, v interval, r bytea, x float8, m money, at timestamptz"
ROW = (
    "array['a', null, 'NULL'], array[1, null], '2026-02-03', '-1 mon 2 days -03:04:05', decode('de00', 'hex'),"
    " 0.1::float8 / 3, 1.5, '2026-02-03 04:05:06+00'"
)
PLAIN = "set intervalstyle = postgres;"
PAUSE = 0.7


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    return Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))


def say(dsn: str, name: str, value: str) -> None:
    run(dsn, f"alter database {parameters(dsn)['dbname']} set {name} = '{value}'")


class Slow(InProcess):
    """Sessions that wait for its tasks are idle for long."""

    def map(self, *args: Any, **more: Any) -> Any:
        time.sleep(PAUSE)
        return super().map(*args, **more)


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("more", ["", ", p pair"], ids=["binary", "text"])
def test_values_are_the_same(replica: Replica, side: str, more: str) -> None:
    for name, value in SETTINGS.items():
        say(getattr(replica, side), name, value)
    replica.at_source("create type pair as (a int, b text)", f"create table t ({COLUMNS}{more})")
    replica.at_source(f"{PLAIN} insert into t values (1, {ROW})")
    replica.activate()
    replica.settle()
    replica.at_source(
        f"{PLAIN} insert into t values (2, {ROW})",
        "update t set x = x + 1 where id = 1",
        "alter table t add c int default 3",
    )
    replica.settle()
    replica.refresh("public.*")
    replica.settle()


@both
def test_sessions_that_are_idle_for_long(replica: Replica) -> None:
    """While Spark works for minutes they only wait."""
    for dsn in (replica.source, replica.target):
        say(dsn, "idle_session_timeout", f"{PAUSE / 2}s")
        say(dsn, "idle_in_transaction_session_timeout", f"{PAUSE / 2}s")
    replica.at_source("create table t (id int primary key, a int[])", "insert into t values (1)")
    with flow.open_channel(replica.file, Slow()) as cycle:
        flow.activate(cycle)
    replica.at_source("insert into t values (2, '{1}')", "alter table t add v int default 7", "update t set v = 8")
    with flow.open_channel(replica.file, Slow()) as cycle:
        flow.replicate(cycle)
        assert flow.compare(cycle).differences == 0


@both
def test_statements_and_transactions_that_take_long(databases: Any) -> None:
    """To stage rows, to build a key, to merge."""
    names = ["statement_timeout", *(["transaction_timeout"] if databases.server.version >= 17 else [])]
    here = f"{databases.target}?options={'%20'.join(f'-c{name}%3D200' for name in names)}"
    wait = "SELECT pg_sleep(0.5)"
    with loading(here, "t") as cursor:
        cursor.execute(wait)
        cursor.fetchall()
    finish_shadow(FinishTask(here, TableName("public", "t"), TableName("ddlrepl", "r"), (wait,)))
    with session(here) as connection, connection.transaction():
        for _ in range(5):
            connection.execute("SELECT pg_sleep(0.1)")
