"""Tables that come into the stream some time after they were there: none of their rows is lost in between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from airflow_ddlrepl.engines.postgres.source import members
from airflow_ddlrepl.errors import SourceError
from tests.conftest import Databases
from tests.flow.capture.test_without_triggers import both, start
from tests.support.crashing import die
from tests.support.replica import Replica

RELATIONS = {"ddl": "relations"}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "SETTLE_SECONDS", 0.5)


@contextmanager
def writing(replica: Replica, statement: str) -> Iterator[None]:
    """A transaction that has run this, and is open until the block ends."""
    with psycopg.connect(replica.source) as writer:
        writer.execute(statement.encode())
        yield


def leave_out(replica: Replica) -> None:
    """`two` can't be published while another transaction creates a table."""
    with psycopg.connect(replica.source) as other:
        other.execute("create table one (v int)")
        replica.at_source("create table two (id int primary key, v int)")
        replica.replicate()
        other.rollback()


@both
def test_left_out_until_it_has_a_key(databases: Databases, tmp_path: Path) -> None:
    replica = start(databases, tmp_path, ["t"], source={**RELATIONS, "replica_identity": "leave"})
    replica.at_source("create table k (id int, v text)", "insert into k values (1, 'a')")
    replica.settle(left_out=["public.k"])
    replica.at_source("insert into k values (2, 'b')")
    replica.settle(left_out=["public.k"])
    replica.at_source("alter table k add primary key (id)", "insert into k values (3, 'c')")
    assert set(replica.settle().refresh.tables) == {"public.k"}
    replica.at_source("insert into k values (4, 'd')")
    assert replica.settle().refresh.tables == {}


@both
@pytest.mark.parametrize("ddl", ["auto", "relations"])
def test_a_table_that_was_left_out_at_activation_joins_without_a_pattern(
    databases: Databases, tmp_path: Path, ddl: str
) -> None:
    replica = Replica(databases.source, databases.target, tmp_path / "shop.yml")
    replica.at_source("create unlogged table u (id int primary key)", "insert into u values (1)")
    replica = start(databases, tmp_path, ["t"], source={"ddl": ddl, "tables": ["public.*"]}, adapt_ddl=[])
    replica.at_source("alter table u set logged", "insert into u values (2)", "create table other (id int)")
    replica.settle()
    assert replica.rows("select id from u order by id") == [(1,), (2,)]
    assert replica.rows("select to_regclass('other')") == [(None,)]


@both
def test_a_writer_from_before_is_waited_for(databases: Databases, tmp_path: Path, impatient: None) -> None:
    """The statement that publishes it locks out nobody who writes to it."""
    replica = start(databases, tmp_path, ["t"], source={"tables": ["public.*", "fresh.*"]})
    replica.at_source("create schema old", "create table old.x (id int primary key)", "insert into old.x values (1)")
    replica.settle()
    with writing(replica, "insert into old.x values (2)"):
        replica.at_source("alter schema old rename to fresh", "insert into fresh.x values (3)")
        with pytest.raises(SourceError, match="SRC-120"):
            replica.replicate()
    replica.settle()
    leave_out(replica)
    with writing(replica, "insert into two values (1, 1)"):
        replica.at_source("alter table two alter v set statistics 10", "insert into two values (2, 2)")
        with pytest.raises(SourceError, match="SRC-120"):
            replica.replicate()
    replica.settle()


def test_activation_waits_for_a_writer_from_before(databases: Databases, tmp_path: Path, impatient: None) -> None:
    replica = start(databases, tmp_path, ["t"])
    leave_out(replica)
    with writing(replica, "insert into two values (1, 1)"), pytest.raises(SourceError, match="SRC-120") as caught:
        replica.activate()
    assert "process" in caught.value.message
    replica.activate()
    replica.settle()


def test_an_activation_that_is_killed_after_it_published(databases: Databases, tmp_path: Path) -> None:
    replica = start(databases, tmp_path, ["t"])
    leave_out(replica)
    replica.at_source("insert into two values (1, 1)")
    die("activate", replica.file, "activate.source")
    replica.activate()
    replica.settle()


@both
def test_one_that_is_locked_keeps_no_other_waiting(databases: Databases, tmp_path: Path) -> None:
    replica = start(databases, tmp_path, ["t"], source=RELATIONS)
    replica.at_source("create table late (id int default 7, v text)", "insert into late values (1, 'a')")
    with writing(replica, "insert into late values (1, 'b')"):
        replica.settle(left_out=["public.late"])
    with writing(replica, "lock table late in access exclusive mode"):
        replica.at_source("insert into t values (101, 1, 'x')")
        replica.replicate()
        assert replica.rows("select count(*) from t where id = 101") == [(1,)]
    replica.at_source("insert into t values (102, 1, 'x')")
    assert set(replica.settle().refresh.tables) == {"public.late"}


@both
@pytest.mark.parametrize("ddl", ["auto", "relations"])
def test_one_that_somebody_takes_out_of_the_publication_comes_back(
    databases: Databases, tmp_path: Path, ddl: str
) -> None:
    replica = start(databases, tmp_path, ["t", "u", "e"], source={"ddl": ddl})
    replica.at_source(
        "alter publication ddlrepl_shop drop table t, u, e",
        "insert into t values (102, 1, 'x')",
        "alter table u set unlogged",
        "insert into u values (102, 1, 'x')",
        "alter table u set logged",
        "truncate e",
        "alter table e add x int",
    )
    assert set(replica.settle().refresh.tables) == {"public.t", "public.u", "public.e"}
    replica.at_source(*(f"delete from {name} where id > 5" for name in "tue"))
    assert replica.settle().refresh.tables == {}
