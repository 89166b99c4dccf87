"""What a server refuses and nobody foresaw has an error of its own, stops one table at most, and its hint mends it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError, Unreachable
from airflow_ddlrepl.ports.work import InProcess
from tests.support.refusing import ask, edit
from tests.support.replica import BOTH, Replica, channel_file, run

OTHER = "create table other (id int primary key)"


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    """Not activated yet; a table that is in nobody's way."""
    made = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    made.at_source(OTHER)
    return made


def refused(work: Any, code: str) -> DdlReplError:
    with pytest.raises(DdlReplError) as caught:
        work()
    assert caught.value.code == code, str(caught.value)
    return caught.value


def deactivate(replica: Replica) -> Any:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return flow.deactivate(cycle)


@BOTH
@pytest.mark.parametrize("taken_by", ["index pair on mine (id)", "sequence pair"])
def test_a_name_that_a_type_needs_is_taken(replica: Replica, taken_by: str) -> None:
    replica.at_target("create table mine (id int)", f"create {taken_by}")
    replica.at_source(
        "create type pair as (a int, b int)",
        "create table t (id int primary key, p pair)",
        "insert into t values (1, (1, 2))",
    )
    error = refused(replica.activate, "SQL-112")
    assert error.table == "public.t" and "pair" in error.message and "rename or drop" in error.hint
    replica.at_source("insert into other values (1)")
    refused(replica.replicate, "SQL-112")
    assert replica.rows("select count(*) from other") == [(1,)], "the other table goes on"
    replica.at_target(f"alter {taken_by.partition(' ')[0]} pair rename to another")
    replica.settle()


def test_a_view_has_the_name_of_a_table_that_a_rewind_makes(replica: Replica, past: str) -> None:
    replays = f"replays:\n- {{name: past, location: '{past}'}}\nrewind_horizon: {{age: 1d}}\nrepository:"
    edit(replica.file, "repository:", replays)
    replica.activate()
    replica.at_source("insert into other values (1)")
    replica.replicate()
    with flow.open_channel(replica.file, InProcess()) as cycle:
        moment = str(cycle.captured())
    replica.rewind(moment)
    run(past, "drop table other", "create view other as select 1 as id")
    refused(lambda: replica.rewind(moment), "SQL-112")
    run(past, "drop view other")
    replica.rewind(moment)
    assert ask(past, "select id from other") == [(1,)]


@BOTH
def test_somebody_looks_into_our_schema_when_the_channel_ends(replica: Replica) -> None:
    replica.activate()
    replica.at_source("create view mine as select * from ddlrepl.channel")
    error = refused(lambda: deactivate(replica), "SQL-114")
    assert "public.mine" in error.message and "drop them" in error.hint
    assert ask(replica.source, "select count(*) from pg_views where viewname = 'mine'") == [(1,)]
    replica.at_source("drop view mine")
    deactivate(replica)
    assert ask(replica.source, "select count(*) from pg_namespace where nspname = 'ddlrepl'") == [(0,)]


@BOTH
def test_an_event_trigger_of_the_target_chooses_its_error(replica: Replica) -> None:
    """Whatever it says, it is no row that breaks a constraint, and no value."""
    replica.at_source("insert into other values (1)")
    replica.activate()
    replica.at_target(
        "create function no() returns event_trigger language plpgsql as"
        " $$ begin raise exception 'not on Fridays' using errcode = '23514'; end $$",
        "create event trigger no on ddl_command_end when tag in ('CREATE TABLE') execute function no()",
    )
    error = refused(lambda: replica.refresh("public.other"), "SQL-109")
    assert error.table == "public.other" and "not on Fridays" in error.message
    replica.at_target("drop event trigger no")
    replica.refresh("public.other")
    replica.settle()


@pytest.mark.parametrize(
    ("by_hand", "mend", "named"),
    [
        (
            "create domain d as int check (value < 2)",
            "alter domain d drop constraint d_check",
            "Drop the constraint at the target",
        ),
        ("create table d (id int)", "alter table d rename to aside", "rename or drop it there"),
    ],
    ids=["constraint", "other type"],
)
def test_rows_that_a_type_of_the_target_does_not_take(replica: Replica, by_hand: str, mend: str, named: str) -> None:
    replica.at_target(by_hand)
    replica.at_source("create domain d as int", "create table t (id int primary key, v d)")
    replica.at_source("insert into t values (1, 5)")
    error = refused(replica.activate, "TGT-120")
    assert error.table == "public.t" and named in error.hint
    replica.at_target(mend)
    replica.settle()


@pytest.mark.parametrize("options", ["-c%20work_mem%3Dx", "-c%20nothing_here%3D1"])
def test_a_setting_of_the_location_is_none(replica: Replica, options: str) -> None:
    replica.activate()
    edit(replica.file, replica.target, f"{replica.target}?options={options}")
    error = refused(replica.replicate, "CON-109")
    assert isinstance(error, Unreachable) and not error.retryable and "options=" in error.hint


@BOTH
def test_a_table_that_the_target_can_not_drop_stops_no_other(databases: Any, tmp_path: Path) -> None:
    policy = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}]
    file = channel_file(tmp_path, databases.source, databases.target, adapt_ddl=policy)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(
        OTHER,
        "create table t (id int primary key)",
        "create table p (id int primary key) partition by range (id)",
        "create table p1 partition of p for values from (0) to (10)",
        "insert into p values (1)",
    )
    replica.activate()
    replica.at_target("create view on_t as select * from t", "create view on_p1 as select * from p1")
    replica.at_source("drop table t", "drop table p1", "insert into other values (1)")
    told = replica.settle().text()
    assert told.count("drop it there by hand") == 2, told
    assert replica.rows("select count(*) from other") == [(1,)]
    assert replica.rows("select * from p") == [], "the rows of a dropped partition show no more"
    assert replica.rows("select * from on_p1") == [(1,)]
    with flow.open_channel(file, InProcess()) as cycle:
        text = flow.status(cycle).text()
    assert "public.t " in text and text.count(" kept") == 2
