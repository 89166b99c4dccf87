"""Source and target are of other versions and collations: what the target would compute otherwise it gets as values."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.doctor import run_doctor
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica, channel_file

TABLE = """
create table public.t (
    id int primary key,
    name text,
    twice int generated always as (id * 2) stored,
    low text generated always as (lower(name)) stored,
    code uuid default uuidv7(),
    at timestamptz default now())
"""


def replica_of(source: str, target: str, folder: Path) -> Replica:
    return Replica(source, target, channel_file(folder, source, target))


def told(replica: Replica) -> str:
    with flow.open_channel(replica.file, InProcess()) as run:
        return flow.status(run).text()


@pytest.fixture
def unlike(pg18: PrivateServer) -> Iterator[tuple[str, str]]:
    """A source in C.UTF-8, and a target in C, whose `lower` knows ASCII alone."""
    source = pg18.create_database("unlike_source")
    target = pg18.create_database("unlike_target")
    pg18.drop_database("unlike_target")
    with psycopg.connect(pg18.dsn("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE unlike_target TEMPLATE template0 LOCALE 'C' ENCODING 'UTF8'")
    yield source, target
    for name in ("unlike_source", "unlike_target"):
        pg18.drop_database(name)


def test_a_column_that_depends_on_the_collation_gets_the_values_of_the_source(
    unlike: tuple[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    replica = replica_of(*unlike, tmp_path)
    replica.at_source(TABLE, "insert into public.t (id, name) values (1, 'ÄRGER')")
    with caplog.at_level(logging.WARNING, "ddlrepl"):
        replica.activate()
    assert "default collation" in caplog.text
    replica.at_source("insert into public.t (id, name) values (2, 'ÖL')", "update public.t set name = 'Ü' where id = 1")
    replica.settle()
    assert replica.rows("select low from public.t order by id") == [("ü",), ("öl",)]
    generated = "select attname::text from pg_attribute where attrelid = 'public.t'::regclass and attgenerated <> ''"
    assert replica.rows(generated) == [("twice",)]
    assert "unlike the source: column low: lower(name) may have another value at the target" in told(replica)
    findings = [one for one in run_doctor(load_channel(replica.file)) if "default collation" in one.detail]
    assert len(findings) == 1
    replica.at_source("alter table public.t add up text generated always as (upper(name)) stored")
    replica.settle()
    assert replica.rows("select up from public.t order by id") == [("Ü",), ("ÖL",)]


def test_a_column_of_the_channel_file_is_computed_at_the_target(unlike: tuple[str, str], tmp_path: Path) -> None:
    tables = [{"tables": "t", "extra": {"late": "name > 'b'"}}]
    replica = Replica(*unlike, channel_file(tmp_path, *unlike, target_tables=tables))
    replica.at_source(TABLE, "insert into public.t (id, name) values (1, 'a')")
    replica.activate()
    replica.at_source("insert into public.t (id, name) values (2, 'c')", "alter table public.t add more int")
    replica.settle()
    assert replica.rows("select late from public.t order by id") == [(False,), (True,)]


def test_what_the_log_does_not_have_is_told_and_never_called_repaired(unlike: tuple[str, str], tmp_path: Path) -> None:
    replica = replica_of(*unlike, tmp_path)
    replica.at_source(
        "create table public.v (id int primary key, name text, low text generated always as (lower(name)) virtual)",
        "insert into public.v (id, name) values (1, 'ÄRGER')",
    )
    replica.activate()
    assert "the log does not have the values" in told(replica)
    with flow.open_channel(replica.file, InProcess()) as run:
        found = flow.repair(run)
    assert (found.repaired, found.unrepaired, found.differences) == ((), ("public.v",), 1)
    assert "public.v still differs after the repair" in found.text()
    assert "was repaired" not in found.text()


def test_what_the_version_of_the_target_lacks_stays_at_the_source(
    pg18: PrivateServer, pg15: PrivateServer, tmp_path: Path
) -> None:
    replica = replica_of(pg18.create_database("newer"), pg15.create_database("older"), tmp_path)
    try:
        replica.at_source(
            TABLE,
            "insert into public.t (id, name) values (1, 'a')",
            "create table public.c (id int primary key, n text, f text generated always as (casefold(n)) stored)",
            "insert into public.c (id, n) values (1, 'A')",
        )
        replica.activate()
        replica.at_source(
            "insert into public.t (id, name) values (2, 'b')", "insert into public.c (id, n) values (2, 'B')"
        )
        replica.settle()
        assert replica.rows("select f from public.c order by id") == [("a",), ("b",)]
        replica.at_source(
            "create table public.late (id uuid default uuidv7() primary key, n int)",
            "insert into public.late (n) values (1)",
            "alter table public.c add u uuid default uuidv7()",
        )
        replica.settle()
        text = told(replica)
        assert "column code: the default uuidv7() calls uuidv7, which PostgreSQL 15 lacks; it stays" in text
        assert "column f: the target keeps the values, not the expression casefold(n)" in text
    finally:
        pg18.drop_database("newer")
        pg15.drop_database("older")


def test_a_function_that_only_the_server_knows_to_be_missing_stops_its_table_alone(
    pg18: PrivateServer, pg15: PrivateServer, tmp_path: Path
) -> None:
    """`reverse` of PostgreSQL 15 takes texts alone."""
    replica = replica_of(pg18.create_database("newer"), pg15.create_database("older"), tmp_path)
    try:
        replica.at_source(
            r"create table public.r (id int primary key, b bytea default reverse('\x0102'::bytea))",
            "insert into public.r (id) values (1)",
            "create table public.other (id int primary key)",
            "insert into public.other values (1)",
        )
        with pytest.raises(DdlReplError, match="SQL-103"):
            replica.activate()
        assert replica.rows("select id from public.other") == [(1,)]
        replica.at_source("alter table public.r alter b drop default", "insert into public.r values (2, null)")
        replica.settle()
        assert replica.rows("select id from public.r order by id") == [(1,), (2,)]
    finally:
        pg18.drop_database("newer")
        pg15.drop_database("older")
