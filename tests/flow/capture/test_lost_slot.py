"""A slot or a publication that is lost: said, and made good by an activation that keeps the target's tables."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.attempts import stopped_at
from tests.support.refusing import ask, edit, refused
from tests.support.replica import Replica, channel_file

START = (
    "create table orders (id int primary key, note text)",
    "insert into orders select i, 'order ' || i from generate_series(1, 50) i",
    "create table log (what text, n int)",
    "insert into log values ('twice', 1), ('twice', 1)",
)
GAP = (
    "insert into orders values (100, 'in the gap')",
    "delete from orders where id < 5",
    "insert into log values ('twice', 2), ('twice', 2)",
    "alter table orders add column price int default 7",
)
OWN = (
    "create view cheap as select id, note from orders where id < 10",
    "create index own on orders (note)",
    "grant select on orders, cheap to pg_monitor",
    "grant insert on log to pg_monitor",
)
GRANTS = """
select table_name, privilege_type from information_schema.role_table_grants
where grantee = 'pg_monitor' and table_schema = 'public' order by 1, 2
"""
TRACES = "select what, n, count(*) from log group by 1, 2 order by 1, 2"


@pytest.fixture(scope="module")
def server(private_server: type[PrivateServer]) -> Iterator[PrivateServer]:
    """It keeps only a little log for slots."""
    settings = {"max_slot_wal_keep_size": "1MB", "min_wal_size": "32MB", "max_wal_size": "32MB"}
    with private_server("source", 18, settings) as made:
        yield made


@pytest.fixture
def replica(server: PrivateServer, tmp_path: Path) -> Iterator[Replica]:
    databases = Databases(server)
    made = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    made.at_source(*START)
    made.activate()
    made.at_target(*OWN)
    yield made
    databases.drop()


def overrun(replica: Replica) -> None:
    """More log than the server keeps for the slot."""
    for _ in range(4):
        replica.at_source("insert into log values ('much', 1)", "select pg_switch_wal()")
    replica.at_source("checkpoint")


def check_mended(replica: Replica) -> None:
    """Equal, what people hung on the target's tables is still there, and the stream goes on."""
    identities = "select relname, oid::bigint from pg_class where relnamespace = 'public'::regnamespace order by 1"
    before = {name: oid for name, oid in replica.rows(identities) if name in ("orders", "cheap", "own")}
    granted = replica.rows(GRANTS)
    found = replica.activate()
    assert {"public.orders", "public.log"} <= set(found.refreshed)
    replica.check_equal()
    assert {name: oid for name, oid in replica.rows(identities) if name in before} == before
    assert replica.rows("select count(*) from cheap") == ask(
        replica.source, "select count(*) from orders where id < 10"
    )
    assert replica.rows(GRANTS) == granted == [("cheap", "SELECT"), ("log", "INSERT"), ("orders", "SELECT")]
    replica.at_source(
        "insert into log values ('twice', 3), ('twice', 3)", "insert into orders values (200, 'later', 1)"
    )
    replica.settle()
    assert ask(replica.source, TRACES) == replica.rows(TRACES)
    slots = "select count(*) from pg_replication_slots where database = current_database()"
    assert ask(replica.source, slots) == [(1,)]


def test_more_log_than_the_server_keeps(replica: Replica) -> None:
    replica.at_source(*GAP)
    overrun(replica)
    ((status,),) = ask(replica.source, "select wal_status from pg_replication_slots where slot_name = 'ddlrepl_shop'")
    assert status == "lost"
    error = refused(replica, "replicate", "SRC-103")
    assert "ddlrepl_shop is lost: " in error.message and not error.message.endswith(": ")
    assert "ddlrepl activate" in error.hint and "max_slot_wal_keep_size" in error.hint
    check_mended(replica)


def test_the_slot_is_lost_in_the_middle_of_a_capture(replica: Replica) -> None:
    """What was read is in the trail; the slot can't be told any more. Nothing is read beyond it."""
    replica.at_source(*GAP)
    run = stopped_at("capture.repository", "replicate", replica.file)
    overrun(replica)
    error = run.wake()
    assert error is not None and error.code == "SRC-103" and "ddlrepl activate" in error.hint, error
    refused(replica, "replicate", "SRC-103")
    check_mended(replica)


@pytest.mark.parametrize(
    ("statement", "code", "named"),
    [
        ("select pg_drop_replication_slot('ddlrepl_shop')", "SRC-102", "slot ddlrepl_shop"),
        ("drop publication ddlrepl_shop", "SRC-104", "publication ddlrepl_shop"),
    ],
    ids=["slot", "publication"],
)
def test_dropped_by_hand(replica: Replica, statement: str, code: str, named: str) -> None:
    replica.at_source(statement, *GAP)
    error = refused(replica, "replicate", code)
    assert f"{named} is missing" in error.message and "ddlrepl activate" in error.hint
    check_mended(replica)


def test_activation_without_loading_leaves_it_to_the_next_cycle(replica: Replica) -> None:
    replica.at_source("select pg_drop_replication_slot('ddlrepl_shop')", *GAP)
    with flow.open_channel(replica.file, InProcess()) as cycle:
        assert flow.activate(cycle, load=False).refreshed == {}
    waiting = "select count(*) from ddlrepl.tables where state = 'pending'"
    assert replica.rows(waiting) == [(2,)]
    assert replica.rows("select count(*) from orders") == [(50,)]
    replica.settle()
    assert replica.rows(waiting) == [(0,)]
    assert ask(replica.source, TRACES) == replica.rows(TRACES)


def test_a_server_that_was_set_back_is_told_apart(replica: Replica, server: PrivateServer, tmp_path: Path) -> None:
    """From a copy of its disk, slots included: what comes at positions that were captured before is not skipped."""
    replica.settle()
    server.stop()
    shutil.copytree(server.data, tmp_path / "copy", symlinks=True)
    server.start()
    replica.at_source(*GAP)
    replica.settle()
    server.stop()
    given = server.data.stat()
    shutil.rmtree(server.data)
    shutil.copytree(tmp_path / "copy", server.data, symlinks=True)
    for path in (server.data, *server.data.rglob("*")):
        os.chown(path, given.st_uid, given.st_gid, follow_symlinks=False)
    server.start()
    error = refused(replica, "replicate", "SRC-130")
    assert "older copy" in error.message and "--accept source" in error.hint
    replica.at_source("select pg_drop_replication_slot('ddlrepl_shop')")
    refused(replica, "activate", "SRC-130")
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.deactivate(cycle)
    edit(replica.file, "- name: warehouse\n", "- name: warehouse\n  existing_tables: replace\n")
    replica.activate()
    replica.at_source("insert into log values ('anew', 1)")
    replica.settle()
