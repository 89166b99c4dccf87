"""What a database sets for everybody's sessions changes no value on its way."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.connect import connect
from airflow_ddlrepl.model.work import InProcess
from tests.conftest import Databases
from tests.live.replica import Replica, channel_file, run

SETTINGS = (
    "array_nulls = off",
    "bytea_output = 'escape'",
    "client_encoding = 'LATIN1'",
    "datestyle = 'German'",
    "default_transaction_isolation = 'serializable'",
    "extra_float_digits = '-3'",
    "idle_in_transaction_session_timeout = '20s'",
    "intervalstyle = 'sql_standard'",
    "lock_timeout = '3s'",
    "quote_all_identifiers = on",
    "row_security = off",
    "search_path = 'nowhere'",
    "standard_conforming_strings = off",
    "statement_timeout = '20s'",
    "timezone = 'Asia/Kathmandu'",
    "transform_null_equals = on",
)
OURS = "set search_path = public; set datestyle = iso; set client_encoding = utf8; set array_nulls = on; "
TABLES = (
    "create table t (id int primary key, d date, ts timestamptz, f float8, b bytea, a text[], i interval, m money,"
    " n numeric, j jsonb, tt timetz, fs float4[], s text default E'a\\\\b''c')",
    "create table k (a text[], f float8, ts timestamptz default '2024-02-03 04:05:06.789+00')",
    "create type c as (a text, d date)",
    "create table v (id int, c c, cs c[])",
)
ROW = (
    "select i, date '2024-02-03' + i, timestamptz '2024-02-03 04:05:06.789+00' + i * interval '1 h', i / 3.0,"
    " decode('5c00ff', 'hex'), array['a', null, 'NULL', 'b\"c\\\\'], interval '1 day -2 hours', 12.34::money, 1.10 * i,"
    " jsonb_build_object('a', i), '04:05:06+01', array[1.1, null, 'NaN']::float4[]"
)


@pytest.mark.parametrize("rows", [2, 3000], ids=["given", "staged"])
def test_settings_of_a_database_change_nothing(databases: Databases, tmp_path: Path, rows: int) -> None:
    for dsn in (databases.source, databases.target):
        name = dsn.rpartition("/")[2]
        run(dsn, *(f'alter database "{name}" set {setting}' for setting in SETTINGS))
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(*(OURS + table for table in TABLES))
    replica.activate()
    replica.at_source(
        OURS + f"insert into t {ROW} from generate_series(1, {rows}) i",
        OURS + "insert into k values (array['NULL', null], 0.1, default)",
        OURS + "insert into v values (1, row('x', '2024-05-06'), array[row('y', '2024-05-07')::c])",
        OURS + "alter table t add z timestamptz default '2024-02-03 04:05:06.789+00'",
        OURS + "alter table t add y text[] default array['NULL', null]",
    )
    replica.settle()
    with flow.open_channel(replica.file, InProcess()) as cycle:
        assert "warehouse" in flow.status(cycle).text()
        flow.refresh(cycle, ["public.*"])
    replica.check_equal()


def test_a_server_that_is_gone_without_a_word_is_noticed(databases: Databases) -> None:
    def idle(connection: psycopg.Connection[Any]) -> int:
        with socket.socket(fileno=os.dup(connection.fileno())) as known:
            return known.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)

    with connect(databases.source) as connection:
        assert idle(connection) == 30
    with connect(make_conninfo(databases.source, keepalives_idle=7)) as connection:  # the location's URL comes first
        assert idle(connection) == 7
