"""Schema changes that no event trigger tells of: nothing is lost, and only what can't be told apart is loaded anew.

Each story is one table of one channel; a story's statements are transactions between two cycles.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file

both = pytest.mark.parametrize("databases", [18, 15], indirect=True)


@dataclass(frozen=True)
class Story:
    """{t}: its table (id int primary key, a int, b text) with rows 1 to 20. refreshed: may an ALTER not carry it?"""

    name: str
    statements: tuple[str, ...]
    refreshed: bool = False


STORIES = [
    Story("added", ("alter table {t} add column c int", "insert into {t} values (101, 1, 'x', 5)")),
    Story(
        "add_default",
        (
            "insert into {t} values (99, 1, 'x')",
            "alter table {t} add column c int default 7",
            "insert into {t} values (101, 1, 'x', 5)",
            "update {t} set c = 9 where id = 3",
        ),
    ),
    Story(
        "default_dropped_again",
        ("alter table {t} add column c int default 7", "alter table {t} alter c drop default"),
    ),
    Story(
        "default_changed",
        ("alter table {t} add column c int default 7", "alter table {t} alter c set default 8"),
    ),
    Story("volatile", ("alter table {t} add column c uuid default gen_random_uuid()",), refreshed=True),
    Story(
        "volatile_dropped_again",
        ("alter table {t} add column c uuid default gen_random_uuid()", "alter table {t} alter c drop default"),
        refreshed=True,
    ),
    Story("numbered", ("alter table {t} add column c serial",), refreshed=True),
    Story(
        "dropped",
        ("insert into {t} values (99, 1, 'x')", "alter table {t} drop column a", "insert into {t} values (101, 'x')"),
    ),
    Story(
        "renamed",
        (
            "insert into {t} values (99, 1, 'x')",
            "alter table {t} rename column b to bb",
            "insert into {t} values (101, 1, 'y')",
            "update {t} set bb = 'n' where id = 2",
        ),
    ),
    Story(
        "names_exchanged",
        (
            "alter table {t} alter a type text",
            "insert into {t} values (99, 'a', 'b')",
            "alter table {t} rename a to x",
            "alter table {t} rename b to a",
            "alter table {t} rename x to b",
            "insert into {t} (id, a, b) values (101, 'b', 'a')",
        ),
        refreshed=True,
    ),
    Story("wider_text", ("alter table {t} alter b type varchar",)),
    Story(
        "by_using",
        ("alter table {t} alter a type bigint using a * 2", "insert into {t} values (101, 99999999999, 'x')"),
        refreshed=True,
    ),
    Story(
        "many_layouts",
        (
            "insert into {t} values (101, 1, 'q')",
            "alter table {t} add column c int",
            "insert into {t} values (102, 1, 'q', 2)",
            "alter table {t} rename column c to d",
            "insert into {t} values (103, 1, 'q', 2)",
            "alter table {t} drop column a",
            "insert into {t} values (104, 'q', 2)",
            "alter table {t} alter d type text",
            "update {t} set b = 'last' where id = 3",
        ),
        refreshed=True,
    ),
    Story(
        "came_and_went",
        (
            "alter table {t} add column c int",
            "insert into {t} values (101, 1, 'q', 3)",
            "alter table {t} drop column c",
            "insert into {t} values (102, 1, 'q')",
        ),
        refreshed=True,
    ),
    Story(
        "same_name_again",
        (
            "insert into {t} values (101, 1, 'q')",
            "alter table {t} drop column b",
            "alter table {t} add column b text",
            "insert into {t} values (102, 1, 'new')",
        ),
        refreshed=True,
    ),
    Story(
        "same_name_again_unwritten",
        ("alter table {t} drop column b", "alter table {t} add column b text default 'd'"),
    ),
    Story(
        "truncated", ("insert into {t} values (101, 1, 'q')", "truncate {t}", "insert into {t} values (102, 1, 'q')")
    ),
    Story(
        "truncate_and_alter",
        ("truncate {t}", "insert into {t} values (102, 1, 'q')", "alter table {t} add column c int default 3"),
    ),
    Story(
        "key_moves",
        (
            "alter table {t} drop constraint {t}_pkey",
            "alter table {t} add primary key (b)",
            "insert into {t} values (1, 1, 'another 1')",
            "update {t} set a = 5 where b = 'x2'",
        ),
    ),
    Story("null_allowed", ("alter table {t} alter b drop not null", "update {t} set b = null where id = 3")),
    Story(
        "null_allowed_now",
        ("alter table {t} alter a drop not null", "update {t} set a = null where id = 3"),
        refreshed=True,
    ),
    Story(
        "label",
        ("alter type mood add value 'new'", "insert into {t} values (101, 1, 'q', 'new')"),
        refreshed=True,
    ),
]
SETUP = {
    "null_allowed_now": ("alter table {t} alter a set not null",),
    "label": ("create type mood as enum ('old')", "alter table {t} add column m mood default 'old'"),
}


def start(databases: Databases, folder: Path, names: list[str], **more: Any) -> Replica:
    replica = Replica(
        databases.source, databases.target, channel_file(folder, databases.source, databases.target, **more)
    )
    for name in names:
        replica.at_source(
            f"create table {name} (id int primary key, a int, b text)",
            f"insert into {name} select i, i * 10, 'x' || i from generate_series(1, 20) i",
            *(s.replace("{t}", name) for s in SETUP.get(name, ())),
        )
    replica.activate()
    return replica


@pytest.mark.req("HVR-D-25", "HVR-D-38", "HVR-D-57")
@both
def test_changes_between_two_cycles(databases: Databases, tmp_path: Path) -> None:
    replica = start(databases, tmp_path, [s.name for s in STORIES], source={"ddl": "relations"})
    for story in STORIES:
        replica.at_source(*(s.replace("{t}", story.name) for s in story.statements))
    result = replica.settle()
    assert result.capture.ddl in ({}, {"TRUNCATE": 2})
    assert set(result.refresh.tables) == {f"public.{s.name}" for s in STORIES if s.refreshed}
    _all_marked(replica)
    for story in STORIES:
        replica.at_source(f"update {story.name} set id = id + 1000 where id in (1, 102)")
    assert replica.settle().refresh.tables == {}


def _all_marked(replica: Replica) -> None:
    with flow.open_channel(replica.file, InProcess()) as run:
        revisions = run.repository.revisions("shop")
    assert any(r.number for r in revisions)
    assert all(r.is_ambiguous for r in revisions if r.number)


@both
def test_tables_come_go_and_exchange_their_names(databases: Databases, tmp_path: Path) -> None:
    replica = start(databases, tmp_path, ["one", "two", "three", "four", "gone"], source={"ddl": "relations"})
    replica.at_source(
        "insert into one values (101, 1, 'one')",
        "alter table one rename to aside",
        "alter table two rename to one",
        "alter table aside rename to two",
        "insert into one values (102, 1, 'was two')",
        "alter table three rename to third",
        "insert into third values (103, 1, 'three')",
        "drop table gone",
        "drop table four",
        "create table four (id int primary key, z text)",
        "insert into four values (1, 'new')",
        "create table later (v text)",
        "insert into later values ('a'), ('a')",
        "create schema s2",
        "alter table third set schema s2",
    )
    result = replica.settle()
    assert set(result.refresh.tables) == {"public.four", "public.later"}
    assert replica.rows("select count(*) from gone") == [(20,)]
    replica.at_source("update later set v = 'b'", "delete from four", "insert into s2.third values (104, 1, 'x')")
    assert replica.settle().refresh.tables == {}


def test_a_table_that_loses_its_key_gets_another_identity_at_the_cycle(databases: Databases, tmp_path: Path) -> None:
    replica = start(databases, tmp_path, ["t"], source={"ddl": "relations"})
    replica.at_source("alter table t drop constraint t_pkey", "insert into t values (1, 1, 'twice')")
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
        replica.at_source("update t set b = 'refused'")
    replica.settle()
    replica.at_source("update t set b = 'z' where id = 1", "delete from t where id = 2")
    replica.settle()


@both
def test_a_new_table_that_a_transaction_holds_is_published_when_it_has_ended(
    databases: Databases, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    replica = start(databases, tmp_path, ["t"], source={"ddl": "relations"})
    replica.at_source("create table late (v text)", "insert into late values ('a'), ('a')")
    with psycopg.connect(replica.source) as writer:
        writer.execute("insert into late values ('b')")
        writer.execute("prepare transaction 'p'")
    replica.settle(left_out=["public.late"])
    replica.at_source("update late set v = 'c'", "insert into t values (101, 1, 'x')")
    assert replica.settle(left_out=["public.late"]).refresh.tables == {}
    assert any("late is not published yet: another transaction" in message for message in caplog.messages)
    replica.at_source("commit prepared 'p'")
    assert set(replica.settle().refresh.tables) == {"public.late"}
    assert replica.rows("select v from late order by v") == [("b",), ("c",), ("c",)]
    replica.at_source("update late set v = 'd'", "delete from t where id < 3")
    assert replica.settle().refresh.tables == {}


def test_silenced_triggers(databases: Databases, tmp_path: Path) -> None:
    replica = start(databases, tmp_path, ["t", "u", "gone"])
    off = "set event_triggers = off; "
    replica.at_source(
        off + "alter table t add column c int default 5",
        "insert into t values (102, 1, 'q', 7)",
        "alter table t add column d int",
        "insert into t values (103, 1, 'q', 7, 8)",
        off + "alter table u rename b to bb",
        "insert into u values (101, 1, 'r')",
        off + "drop table gone",
        off + "create table late (v text)",
        "insert into late values ('before it joined')",
    )
    replica.settle()
    replica.at_source("update late set v = 'after'", "alter table u add column e text default 'e'")
    assert replica.settle().refresh.tables == {}


@both
def test_a_trigger_that_fails_leaves_a_gap_that_inspection_fills(databases: Databases, tmp_path: Path) -> None:
    replica = start(databases, tmp_path, ["t", "u"])
    replica.at_source(
        "alter function ddlrepl.table_shape(oid) rename to away",
        "alter table t add column c int default 5",
        "insert into t values (102, 1, 'q', 7)",
        "alter table u alter a type text using 'v' || a",
        "alter table u rename to uu",
        "create table late (id int primary key)",
        "insert into late values (1)",
        "alter function ddlrepl.away(oid) rename to table_shape",
    )
    assert set(replica.settle().refresh.tables) == {"public.late", "public.uu"}
    replica.at_source("insert into uu values (103, 'z', 'b')", "alter table t add column d int", "delete from late")
    assert replica.settle().refresh.tables == {}
