"""A source that lacks something, or lost what we need: the error has the SQL that mends it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from tests.conftest import Databases
from tests.support.refusing import ask, edit, new_replica, refused
from tests.support.replica import Replica, run

both = pytest.mark.parametrize("databases", [18, 15], indirect=True)
GAP = (
    "insert into t values (2, 'two')",
    "alter table t add column w int default 5",
    "alter table t rename column v to worth",
    "delete from t where id = 1",
    "create table late (n int)",
    "insert into late values (1), (1)",
    "drop table goes",
)


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    made = new_replica(databases, tmp_path)
    made.at_source("create table goes (id int primary key)", "insert into goes values (1)")
    made.activate()
    return made


@pytest.fixture(scope="module")
def spare(private_server: type[PrivateServer]) -> Iterator[PrivateServer]:
    """A server of this module's own, to be reconfigured."""
    with private_server("source", 18, {"wal_level": "replica"}) as server:
        yield server


def test_wal_level_and_a_lost_slot(spare: PrivateServer, tmp_path: Path) -> None:
    databases = Databases(spare)
    replica = new_replica(databases, tmp_path)
    error = refused(replica, "activate", "SRC-101")
    assert "wal_level is replica" in error.message and "ALTER SYSTEM SET wal_level" in error.hint
    assert ask(replica.source, "select 1 from pg_publication union all select 1 from pg_event_trigger") == []
    replica.at_source("ALTER SYSTEM SET wal_level = 'logical'", "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
    spare.stop()
    spare.start()
    replica.activate()
    replica.check_equal()

    replica.at_source("insert into t values (2, 'two')")
    for _ in range(4):
        replica.at_source("insert into t select max(id) + 1, 'more' from t", "select pg_switch_wal()")
    replica.at_source("checkpoint", "alter table t add column w int default 7")
    error = refused(replica, "replicate", "SRC-103")
    assert "max_slot_wal_keep_size" in error.hint and "ddlrepl activate" in error.hint
    replica.activate()
    replica.settle()


def test_a_source_role_without_rights(databases: Any, tmp_path: Path) -> None:
    replica = new_replica(databases, tmp_path)
    role = f"poor_{databases.source.rpartition('/')[2]}"
    databases.server.create_role(role)
    url = databases.server.dsn(databases.source.rpartition("/")[2], role)
    edit(replica.file, replica.source, url)
    error = refused(replica, "activate", "SRC-105")
    assert f"ALTER ROLE {role} REPLICATION" in error.hint
    assert ask(replica.source, "select slot_name from pg_replication_slots where database = current_database()") == []
    replica.at_source(f"ALTER ROLE {role} REPLICATION")
    assert "as a superuser" in refused(replica, "activate", "SRC-105").hint
    replica.at_source(f"ALTER ROLE {role} SUPERUSER")
    replica.activate()
    replica.check_equal()
    replica.at_source(f"ALTER ROLE {role} NOSUPERUSER", f"GRANT USAGE ON SCHEMA ddlrepl TO {role}")
    replica.at_source("insert into t values (2, 'two')", "alter table t add column u uuid default gen_random_uuid()")
    assert "GRANT SELECT" in refused(replica, "replicate", "SRC-105").hint
    replica.at_source(f"ALTER ROLE {role} SUPERUSER")
    replica.settle()
    edit(replica.file, url, replica.source)
    run(replica.source, f"REASSIGN OWNED BY {role} TO postgres", f"DROP OWNED BY {role}", f"DROP ROLE {role}")


@both
def test_the_slot_is_gone(replica: Replica) -> None:
    """Between then and now nothing can be read: said, and made good by refreshes."""
    replica.at_source("select pg_drop_replication_slot('ddlrepl_shop')", *GAP)
    error = refused(replica, "replicate", "SRC-102")
    assert "ddlrepl_shop is missing" in error.message and "ddlrepl activate" in error.hint
    replica.activate()
    replica.at_source("insert into t (id) values (3)")
    replica.settle()


def test_somebody_made_the_slot_anew(replica: Replica) -> None:
    """Even where the log after it holds nothing more, the gap before it is seen."""
    replica.at_source(
        "select pg_drop_replication_slot('ddlrepl_shop')",
        *GAP,
        "select pg_create_logical_replication_slot('ddlrepl_shop', 'pgoutput')",
    )
    assert "ddlrepl activate" in refused(replica, "replicate", "SRC-141").hint
    replica.activate()
    replica.settle()


@both
def test_the_publication_is_gone(replica: Replica) -> None:
    replica.at_source("drop publication ddlrepl_shop", *GAP)
    error = refused(replica, "replicate", "SRC-104")
    assert "ddlrepl_shop is missing" in error.message and "ddlrepl activate" in error.hint
    replica.activate()
    replica.settle()


@both
def test_somebody_made_the_publication_anew(replica: Replica) -> None:
    replica.at_source("drop publication ddlrepl_shop", *GAP, "create publication ddlrepl_shop for table t")
    assert "ddlrepl activate" in refused(replica, "replicate", "SRC-106").hint
    replica.activate()
    replica.settle()


@both
def test_tables_without_a_key(databases: Any, tmp_path: Path) -> None:
    """The user's UPDATE and DELETE never fail, and every copy of a row counts."""
    replica = new_replica(databases, tmp_path)
    replica.at_source("create table k (what text, n int)", "insert into k values ('a', 1), ('a', 1), (null, 2)")
    replica.activate()
    replica.at_source(
        "update k set n = 5 where ctid = (select min(ctid) from k)",
        "delete from k where what is null",
        "create table made (what text)",
        "insert into made values ('x'), ('x')",
        "delete from made where ctid = (select min(ctid) from made)",
        "update made set what = 'y'",
    )
    replica.settle()
    assert sorted(replica.rows("select what, n from k")) == [("a", 1), ("a", 5)]
    assert replica.rows("select what from made") == [("y",)]


@both
def test_tables_without_a_key_left_alone(databases: Any, tmp_path: Path) -> None:
    replica = new_replica(databases, tmp_path, source={"replica_identity": "leave"})
    replica.at_source("create table k (what text)", "insert into k values ('a'), ('a')")
    found = replica.activate()
    assert found.left_out.get("public.k")
    assert "public.k" not in found.tables
    replica.at_source("update k set what = 'b'", "delete from k", "insert into t values (9, 'nine')")
    replica.settle(left_out={"public.k"})
    assert "public.k is left out and was not compared" in replica.compare().text()
    replica.at_source("alter table k add column id serial primary key")
    replica.at_source("insert into k values ('c')")
    replica.replicate()
    replica.settle()


@both
def test_a_table_without_columns(databases: Any, tmp_path: Path) -> None:
    replica = new_replica(databases, tmp_path)
    replica.at_source("create table k (a int)", "insert into k values (1), (2), (3)")
    replica.activate()
    replica.at_source("alter table k drop a", "delete from k where ctid = (select min(ctid) from k)")
    replica.at_source(*["insert into k default values"] * 3)
    replica.settle()
    assert replica.rows("select count(*) from k") == [(5,)]
