"""A source in SQL_ASCII has names with bytes that are no UTF-8: their tables are left out by name, all others go on."""

from __future__ import annotations

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.doctor import run_doctor
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.flow.encodings.test_undecodable_texts import replica, source
from tests.support.replica import BOTH, Replica

__all__ = ["replica", "source"]
LATIN = "caf\xe9"
SHOWN = "public.caf\\xe9"
MADE = {
    "the table": ("public", ["create table caf\xe9 (id int primary key, v text)"]),
    "the schema": ("caf\xe9", ["create schema caf\xe9", "create table caf\xe9.t (id int primary key)"]),
    "a column": ("", ["create table worse (id int primary key, caf\xe9 text)"]),
    "a type": ("", ["create type caf\xe9 as enum ('a')", "create table worse (id int primary key, v caf\xe9)"]),
    "a label": ("", ["create type e as enum ('caf\xe9')", "create table worse (id int primary key, v e)"]),
    "a default": ("", ["create table worse (id int primary key, v text default 'caf\xe9')"]),
}


def latin(replica: Replica, *statements: str) -> None:
    """As an application whose driver knows no other encoding than LATIN1, in a database that does not look."""
    with psycopg.connect(replica.source, autocommit=True, client_encoding="SQL_ASCII") as connection:
        for statement in statements:
            connection.execute(statement.encode("latin-1"))


def left_out(replica: Replica) -> list[str]:
    """The tables that status says are left out."""
    with flow.open_channel(replica.file, InProcess()) as cycle:
        found = flow.status(cycle)
    names = [one["table"] for one in found.to_json()["left_out"] if "no UTF-8" in one["why"]]
    told = [line for line in found.text().splitlines() if "no UTF-8" in line]
    assert sum("  left out" in line for line in told) == len(names)
    of_the_run = [line for line in told if "  left out" not in line]
    assert [line for line in of_the_run if not any(name in line for name in names)] == []
    assert sum(line.startswith("replicate fails since ") for line in of_the_run) == bool(names)
    return names


def fails(replica: Replica) -> DdlReplError:
    with pytest.raises(DdlReplError, match="SRC-176") as caught:
        replica.replicate()
    return caught.value


@BOTH
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("when", ["before activation", "after it"])
def test_a_table_with_such_a_name_is_left_out_alone(replica: Replica, made: str, when: str) -> None:
    statements = MADE[made][1]
    if when == "before activation":
        latin(replica, *statements)
    replica.activate()
    if when == "after it":
        latin(replica, *statements)
    latin(replica, "insert into good values (2, 'b')", "alter table good add w int default 3 -- caf\xe9")
    error = fails(replica)
    bad = left_out(replica)
    assert len(bad) == 1 and bad[0] in error.message
    assert replica.rows("select id, w from good order by id") == [(1, 3), (2, 3)]
    assert replica.rows("select count(*) from pg_class where relname like 'caf%'") == [(0,)]
    told = [one for one in run_doctor(load_channel(replica.file)) if bad[0] in one.detail]
    assert [one.ok for one in told] == [False]
    replica.check_equal(left_out=bad)
    latin(replica, "insert into good values (3, 'c')")
    fails(replica)
    assert replica.rows("select count(*) from good") == [(3,)]


def test_such_a_table_that_is_locked_is_noted_in_utf8(replica: Replica) -> None:
    """What our table says of it is read by all runs: bytes that are no UTF-8 would stop them."""
    replica.activate()
    latin(replica, "create table caf\xe9 (id int primary key, v text default 'x')")
    with psycopg.connect(replica.source, client_encoding="SQL_ASCII") as other:
        other.execute("delete from ddlrepl.member where table_name like 'caf%'")
        other.commit()
        other.execute("lock caf\xe9 in access exclusive mode".encode("latin-1"))
        latin(
            replica,
            "set lock_timeout = '100ms'",
            "select ddlrepl.tend('shop', oid) from pg_class where relname ~ '^caf' and relkind = 'r'",
        )
    with psycopg.connect(replica.source, client_encoding="utf8") as connection:
        told = connection.execute("select table_name, state, cause from ddlrepl.member").fetchall()
    (found,) = [one for one in told if one[0] == "caf\\xe9"]
    assert found[1:3] == ("left out", "lock")


@BOTH
@pytest.mark.parametrize("ddl", ["auto", "relations"])
def test_a_table_that_gets_such_a_name_and_a_good_one_again(replica: Replica, ddl: str) -> None:
    replica.file.write_text(replica.file.read_text().replace("source:\n", f"source:\n  ddl: {ddl}\n"))
    latin(replica, "create table tree (id int, v text) partition by list (id)")
    latin(replica, "create table leaf partition of tree for values in (1, 2)")
    replica.activate()
    latin(
        replica,
        "insert into tree values (1, 'a')",
        "alter table bad rename v to caf\xe9",
        "insert into bad values (3, 'x', 'y')",
        "alter table tree rename to \xe9tree",
        "insert into leaf values (2, 'b')",
        "insert into good values (2, 'b')",
    )
    fails(replica)
    assert left_out(replica) == ["public.\\xe9tree", "public.bad", "public.leaf"]
    assert replica.rows("select id from good order by id") == [(1,), (2,)]
    latin(replica, "update bad set w = 'q'", "truncate bad", "insert into bad values (7, 'x', 'y')")
    fails(replica)
    latin(replica, "alter table bad rename caf\xe9 to v", "alter table \xe9tree rename to tree", "delete from good")
    replica.replicate()
    latin(replica, "insert into bad values (8, 'x', 'y')", "insert into tree values (2, 'c')")
    replica.settle()
    assert left_out(replica) == []
    assert replica.rows("select id from bad order by id") == [(7,), (8,)]


@BOTH
def test_a_statement_with_such_bytes_is_no_gap(replica: Replica) -> None:
    replica.activate()
    latin(replica, "alter table good alter v set default 'gr\xf6\xdfe'", "alter table good alter v drop default")
    latin(replica, "comment on table good is 'caf\xe9'", "drop table if exists caf\xe9")
    latin(
        replica,
        "create table caf\xe9 (id int)",
        "drop table caf\xe9",
        "select set_config('application_name', '\xe9', false)",
    )
    latin(replica, "alter table good add x int")
    replica.replicate()
    replica.settle()


@BOTH
def test_other_objects_with_such_names_stop_nothing(replica: Replica) -> None:
    latin(
        replica, "create sequence se\xe9", "create index in\xe9 on good (v)", "create view vi\xe9 as select 1 as \xe9"
    )
    replica.activate()
    latin(
        replica, "create function f\xe9() returns int language sql as 'select 1'", "alter sequence se\xe9 increment 2"
    )
    latin(
        replica,
        "create schema s\xe9",
        "alter index in\xe9 rename to n\xe9",
        "drop view vi\xe9",
        "insert into good values (2)",
    )
    replica.settle()
    assert left_out(replica) == []
