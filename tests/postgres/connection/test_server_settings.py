"""What a database says for all its sessions, timeouts and how values are spelled, is not meant for ours."""

from __future__ import annotations

import os
import socket
import time
from itertools import product
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.loading import FinishTask, finish_shadow
from airflow_ddlrepl.engines.postgres.connection.connect import connect, parameters, session
from airflow_ddlrepl.engines.postgres.merge.copy_arrow import loading
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file, run

both = pytest.mark.parametrize("databases", [18, 15], indirect=True)
SETTINGS = {
    "array_nulls": "off",
    "bytea_output": "escape",
    "client_encoding": "LATIN1",
    "datestyle": "German",
    "default_transaction_deferrable": "on",
    "default_transaction_isolation": "serializable",
    "extra_float_digits": "-15",
    "idle_in_transaction_session_timeout": "20s",
    "intervalstyle": "sql_standard",
    "lock_timeout": "3s",
    "quote_all_identifiers": "on",
    "row_security": "off",
    "search_path": "nowhere",
    "standard_conforming_strings": "off",
    "statement_timeout": "20s",
    "timezone": "Asia/Kathmandu",
    "transform_null_equals": "on",
}
OURS = (
    "set search_path = public; set datestyle = iso; set client_encoding = utf8; set array_nulls = on;"
    " set intervalstyle = postgres; "
)
TABLES = (
    "create table t (id int primary key, d date, ts timestamptz, f float8, b bytea, a text[], ns int[], i interval,"
    " m money, n numeric, j jsonb, tt timetz, fs float4[], s text default E'a\\\\b''c')",
    "create table k (a text[], f float8, ts timestamptz default '2024-02-03 04:05:06.789+00')",
)
ROWS = (
    "insert into t select i, date '2024-02-03' + i, timestamptz '2024-02-03 04:05:06.789+00' + i * interval '1 h',"
    " i / 3.0, decode('5c00ff', 'hex'), array['a', null, 'NULL', 'b\"c\\\\'], array[i, null],"
    " interval '-1 mon 2 days -03:04:05', 12.34::money, 1.10 * i, jsonb_build_object('a', i), '04:05:06+01',"
    " array[1.1, null, 'NaN']::float4[]"
    " from generate_series(1, {rows}) i",
    "insert into k values (array['NULL', null], 0.1, default)",
)
LATER = (
    "update t set f = f + 1 where id = 1",
    "alter table t add z timestamptz default '2024-02-03 04:05:06.789+00'",
    "alter table t add y text[] default array['NULL', null]",
)
IN_TEXT = ("create type c as (a text, d date)", "create table v (id int, c c, cs c[])")
OF_IT = "insert into v values (1, row('x', '2024-05-06'), array[row('y', '2024-05-07')::c])"
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


@pytest.mark.parametrize(
    ("sides", "rows"),
    [(["source"], 2), (["target"], 2), (["source", "target"], 2), (["source", "target"], 3000)],
    ids=["source", "target", "given", "staged"],
)
@pytest.mark.parametrize("has_text", [False, True], ids=["binary", "text"])
def test_values_are_the_same(replica: Replica, sides: list[str], rows: int, has_text: bool) -> None:
    """A few rows are given to the target with the statements, many are staged."""
    for side, (name, value) in product(sides, SETTINGS.items()):
        say(getattr(replica, side), name, value)
    inserts = [*(text.format(rows=rows) for text in ROWS), *[OF_IT] * has_text]
    replica.at_source(*(OURS + text for text in (*TABLES, *IN_TEXT * has_text, *inserts)))
    replica.activate()
    replica.settle()
    replica.at_source(OURS + "delete from t", *(OURS + text for text in (*inserts, *LATER)))
    replica.settle()
    with flow.open_channel(replica.file, InProcess()) as cycle:
        assert "warehouse" in flow.status(cycle).text()
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
    with loading(here, lambda: TableName("public", "t")) as cursor:
        cursor.execute(wait)
        cursor.fetchall()
    finish_shadow(FinishTask(here, TableName("public", "t"), TableName("ddlrepl", "r"), (wait,)))
    with session(here) as connection, connection.transaction():
        for _ in range(5):
            connection.execute("SELECT pg_sleep(0.1)")


def test_a_server_that_is_gone_without_a_word_is_noticed(databases: Databases) -> None:
    def idle(connection: psycopg.Connection[Any]) -> int:
        with socket.socket(fileno=os.dup(connection.fileno())) as known:
            return known.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)

    with connect(databases.source) as connection:
        assert idle(connection) == 30
    with connect(make_conninfo(databases.source, keepalives_idle=7)) as connection:  # the location's URL comes first
        assert idle(connection) == 7
