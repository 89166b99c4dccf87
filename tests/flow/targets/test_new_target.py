"""A target that is added to the file of an active channel: it is loaded, and the others get their rows in any case."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli.exit_codes import judge_status
from airflow_ddlrepl.doctor import run_doctor
from airflow_ddlrepl.engines.postgres.target.state import _FORGET_KEPT
from airflow_ddlrepl.errors import CannotAdapt, Exit, TargetError, Unreachable
from airflow_ddlrepl.failpoint import FAIL_POINTS
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.crashing import die
from tests.support.refusing import ask
from tests.support.replica import Replica, channel_file, run

DEAD = "postgresql://nobody@127.0.0.1:1/nowhere"
Write = Callable[..., None]


@pytest.fixture
def replica(databases: Databases, tmp_path: Path) -> Replica:
    """Active with one target, `first`."""
    targets = [{"name": "first", "location": databases.target}]
    file = channel_file(tmp_path, databases.source, databases.target, targets=targets)
    made = Replica(databases.source, databases.target, file)
    made.at_source("create table t (id int primary key, v text)", "insert into t values (1, 'a')")
    made.at_source("create table parts (id int primary key) partition by range (id)")
    made.at_source("create table low partition of parts for values from (0) to (10)", "insert into parts values (5)")
    made.activate()
    made.at_source("insert into t values (2, 'b')")
    made.settle()
    return made


def test_dropped_tables_of_a_name_are_found_by_an_index(replica: Replica) -> None:
    """Each load of a table looks for one: without the index thousands of loads would read all states each."""
    with psycopg.connect(replica.target) as connection:
        connection.execute("SET enable_seqscan = off")
        plan = connection.execute(f"EXPLAIN {_FORGET_KEPT}".encode(), ["shop", [1]]).fetchall()
        assert [line for (line,) in plan if "tables_kept" in line], plan


def targets(replica: Replica, *added: dict[str, Any], **more: Any) -> None:
    """Write the channel file with these targets after the first one."""
    listed = [{"name": "first", "location": replica.target}, *added]
    channel_file(replica.file.parent, replica.source, replica.target, targets=listed, **more)


def stages(replica: Replica) -> dict[str, Any]:
    """Each stage in a cycle of its own, as Airflow's tasks run them; what each did, or why it failed."""
    found: dict[str, Any] = {}
    for name in ("capture", "adapt", "refresh", "integrate"):
        with flow.open_channel(replica.file, InProcess()) as cycle:
            channel = cycle.channel
            try:
                found[name] = getattr(flow, name)(cycle) if flow.do_here(channel, name) else None
            except Exception as error:
                found[name] = error
    return found


def seen(replica: Replica) -> tuple[Any, Any]:
    """What status and plan say; neither fails."""
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return flow.status(cycle), flow.plan(cycle)


def test_the_next_cycle_loads_it(replica: Replica, past: str) -> None:
    targets(replica, {"name": "second", "location": past})
    replica.at_source("insert into t values (3, 'c')", "alter table t add n int default 4")
    status, plan = seen(replica)
    assert "target second is not prepared: it is new: the next cycle prepares it" in status.text()
    assert "target second: it is new" in plan.text() and list(plan.targets) == ["first"]
    assert judge_status(status) is Exit.DONE
    assert replica.compare().differences > 0
    result = replica.settle()
    assert "3 tables wait for their rows" in result.adapt.new_targets["second"]
    assert result.refresh.tables["public.t"] == 3
    assert ask(past, "select * from t order by id") == [(1, "a", 4), (2, "b", 4), (3, "c", 4)]
    replica.at_source("insert into t values (4, 'd', 0)", "delete from parts")
    result = replica.settle()
    assert (result.refresh.tables, result.adapt.new_targets) == ({}, {})
    assert "target second at" in seen(replica)[0].text()


def test_stages_that_are_tasks_of_their_own(replica: Replica, past: str) -> None:
    """As Airflow runs them: each looks first whether it has work."""
    targets(replica, {"name": "second", "location": past})
    done = stages(replica)
    assert done["adapt"].new_targets.keys() == {"second"}
    assert done["refresh"].tables.keys() == {"public.t", "public.parts", "public.low"}
    replica.check_equal()
    assert {name: done for name, done in stages(replica).items() if done is not None} == {}


def test_two_at_once(replica: Replica, past: str, databases: Databases) -> None:
    other = databases.server.create_database("third_target")
    try:
        targets(replica, {"name": "second", "location": past}, {"name": "third", "location": other})
        replica.at_source("insert into t values (3, 'c')")
        assert replica.settle().adapt.new_targets.keys() == {"second", "third"}
        assert ask(other, "table t") == ask(past, "table t") == ask(replica.target, "table t")
    finally:
        databases.server.drop_database("third_target")


def test_one_that_waits_for_a_person(replica: Replica, past: str, caplog: pytest.LogCaptureFixture) -> None:
    targets(replica, {"name": "second", "location": past}, new_targets="wait")
    replica.at_source("insert into t values (3, 'c')")
    result = replica.replicate()
    assert ask(replica.target, "select count(*) from t") == [(3,)]
    assert result.adapt.new_targets == {"second": "not prepared yet: `ddlrepl activate` loads it"}
    assert "target second: not prepared yet" in result.text()
    assert "target second is new, and gets no rows" in caplog.text
    assert "waits for `ddlrepl activate` (new_targets: wait)" in seen(replica)[0].text()
    assert {name: done for name, done in stages(replica).items() if done is not None} == {}
    replica.activate()
    replica.check_equal()
    replica.at_source("insert into t values (4, 'd')")
    replica.settle()


def test_one_that_does_not_answer(replica: Replica) -> None:
    targets(replica, {"name": "second", "location": DEAD})
    replica.at_source("insert into t values (3, 'c')")
    with pytest.raises(Unreachable, match="CON-101: target second: "):
        replica.replicate()
    assert ask(replica.target, "select count(*) from t") == [(3,)]
    status, plan = seen(replica)
    assert "target second does not answer" in status.text() and "target second: " in plan.text()


def test_a_location_that_nobody_knows(replica: Replica) -> None:
    targets(replica, {"name": "second", "location": "no_such_connection"})
    replica.at_source("insert into t values (3, 'c')")
    with pytest.raises(Exception, match="CFG-103: target second: "):
        replica.replicate()
    assert ask(replica.target, "select count(*) from t") == [(3,)]
    assert "target second" in seen(replica)[0].text()


def test_a_role_without_rights(replica: Replica, past: str, databases: Databases) -> None:
    database = past.rpartition("/")[2]
    role = f"poor_{database}"
    databases.server.create_role(role)
    targets(replica, {"name": "second", "location": databases.server.dsn(database, role)})
    replica.at_source("insert into t values (3, 'c')")
    with pytest.raises(TargetError, match="TGT-102"):
        replica.replicate()
    assert ask(replica.target, "select count(*) from t") == [(3,)]
    run(past, f"grant create on database {database} to {role}", f"grant create on schema public to {role}")
    replica.settle()
    run(past, f"reassign owned by {role} to postgres", f"drop owned by {role}", f"drop role {role}")


def test_a_table_that_somebody_else_has_filled(replica: Replica, past: str) -> None:
    run(past, "create table t (id int, old text)", "insert into t values (99, 'precious')")
    targets(replica, {"name": "second", "location": past})
    replica.at_source("insert into t values (3, 'c')")
    for _ in range(2):
        with pytest.raises(CannotAdapt, match="ADP-120"):
            replica.replicate()
    assert ask(replica.target, "select count(*) from t") == [(3,)]
    assert ask(past, "table t") == [(99, "precious")]
    targets(replica, {"name": "second", "location": past, "existing_tables": "replace"})
    replica.settle()
    assert ask(past, "select count(*) from t") == [(3,)]


def test_a_place_that_was_a_replay(replica: Replica, past: str) -> None:
    """What it holds is the replay's: it may be overwritten where the file says so."""
    horizon = {"rewind_horizon": {"age": "1d"}}
    targets(replica, replays=[{"name": "second", "location": past}], **horizon)
    replica.refresh("*.*")
    replica.settle()
    with flow.open_channel(replica.file, InProcess()) as cycle:
        position = str(cycle.captured())
    replica.rewind(position, "second")
    targets(replica, {"name": "second", "location": past}, **horizon)
    replica.at_source("insert into t values (3, 'c')")
    with pytest.raises(CannotAdapt, match="ADP-120"):
        replica.replicate()
    assert ask(replica.target, "select count(*) from t") == [(3,)]
    targets(replica, {"name": "second", "location": past, "existing_tables": "replace"}, **horizon)
    replica.settle()


def test_restrict_and_transform_hold_for_it(replica: Replica, past: str) -> None:
    more = {
        "restrict": [{"tables": ["public.t"], "condition": "id > 1", "targets": ["second"]}],
        "table_properties": [{"tables": ["public.t"], "name": "called", "targets": ["second"]}],
    }
    targets(replica, {"name": "second", "location": past}, **more)
    replica.at_source("insert into t values (3, 'c')")
    replica.settle()  # which has the source log whole old rows
    assert ask(replica.target, "select count(*) from t") == [(3,)]
    assert ask(past, "select id from called order by id") == [(2,), (3,)]
    replica.at_source("update t set id = 0 where id = 2")
    replica.settle()
    assert ask(past, "select id from called order by id") == [(3,)]


def test_a_condition_that_its_server_can_not_read(replica: Replica, past: str) -> None:
    """Nothing of it is prepared; the others go on."""
    condition = [{"tables": ["public.t"], "condition": "v > 1", "targets": ["second"]}]
    targets(replica, {"name": "second", "location": past}, restrict=condition)
    replica.at_source("insert into t values (3, 'c')")
    with pytest.raises(CannotAdapt, match="ADP-14"):
        replica.replicate()
    assert ask(replica.target, "select count(*) from t") == [(3,)]
    targets(replica, {"name": "second", "location": past})
    replica.settle()


def test_the_database_of_another_target(replica: Replica) -> None:
    """It is the healthy one's: that gets its rows, the other is refused."""
    targets(replica, {"name": "second", "location": replica.target})
    replica.at_source("insert into t values (3, 'c')")
    with pytest.raises(TargetError, match="TGT-105: targets first and second are one database"):
        replica.replicate()
    assert ask(replica.target, "select count(*) from t") == [(3,)]


def test_until_a_position(replica: Replica, past: str) -> None:
    """Its load would show what is later."""
    with flow.open_channel(replica.file, InProcess()) as cycle:
        position = str(cycle.captured())
    replica.at_source("insert into t values (3, 'c')")
    targets(replica, {"name": "second", "location": past})
    result = replica.replicate(until=position)
    assert "later than" in result.adapt.new_targets["second"]
    assert ask(past, "select to_regnamespace('ddlrepl')") == [(None,)]
    replica.settle()


def test_removed_and_back_again(replica: Replica, past: str) -> None:
    """It goes on where it stood as long as the trail has what it lacks."""
    targets(replica, {"name": "second", "location": past})
    replica.settle()
    targets(replica)
    replica.at_source("insert into t values (3, 'c')", "alter table t add n int", "create table u (id int primary key)")
    replica.settle()
    targets(replica, {"name": "second", "location": past})
    result = replica.settle()
    assert (result.refresh.tables, result.adapt.new_targets) == ({}, {})


def test_back_again_when_the_trail_has_let_go_what_it_lacks(replica: Replica, past: str) -> None:
    second = {"name": "second", "location": past}
    targets(replica, second)
    replica.at_source("create table gone (id int primary key)", "insert into gone values (1)")
    replica.settle()
    targets(replica, retention={"size": 0})
    replica.at_source("insert into t values (3, 'c')", "alter table t add n int", "drop table gone")
    replica.at_source("create table u (id int primary key)", "insert into u values (1)")
    replica.settle()
    replica.at_source("insert into u values (2)")
    replica.settle()
    targets(replica, second, retention={"size": 0}, new_targets="wait")
    assert "the trail no longer has the log that it needs" in seen(replica)[0].text()
    targets(replica, second, retention={"size": 0})
    result = replica.settle()
    assert "4 tables wait" in result.adapt.new_targets["second"]
    replica.at_source("create table gone (id int primary key, other text)", "insert into gone values (7, 'x')")
    replica.settle()


def test_one_that_forgot_us_is_told_by_name(replica: Replica, past: str) -> None:
    targets(replica, {"name": "second", "location": past})
    replica.settle()
    run(past, "drop schema ddlrepl cascade", "drop table t, parts")
    replica.at_source("insert into t values (3, 'c')")
    with pytest.raises(TargetError, match="TGT-101: target second has no state of channel shop"):
        replica.replicate()
    assert ask(replica.target, "select count(*) from t") == [(3,)]
    status, plan = seen(replica)
    assert "target second has no state" in status.text() and "target second has no state" in plan.text()
    replica.activate()
    replica.settle()


def test_a_channel_of_another_repository_is_left_alone(replica: Replica, past: str) -> None:
    """A copy of another channel's target, whatever its state says, is not taken for ours."""
    run(past, "create schema ddlrepl")
    for table in ("position", "tables"):
        kept = ask(replica.target, f"select to_jsonb(x)::text from ddlrepl.{table} x")
        columns = {"position": "channel text primary key, lsn pg_lsn, epoch bigint, token bigint, updated timestamptz"}
        columns["tables"] = (
            "channel text, table_id bigint, schema_name text, table_name text, shape jsonb, state text, snapshot jsonb,"
            " primary key (channel, table_id)"
        )
        run(past, f"create table ddlrepl.{table} ({columns[table]})")
        for (row,) in kept:
            run(
                past,
                f"insert into ddlrepl.{table} select * from jsonb_populate_record(null::ddlrepl.{table}, $${row}$$)",
            )
    targets(replica, {"name": "second", "location": past})
    replica.at_source("insert into t values (3, 'c')")
    with pytest.raises(TargetError, match="TGT-103: target second already holds"):
        replica.replicate()
    assert ask(replica.target, "select count(*) from t") == [(3,)]
    targets(replica, {"name": "second", "location": past, "existing_tables": "replace"})
    replica.settle()


@pytest.mark.parametrize(
    "point", ["activate.target", "record.repository", "refresh.shadow", "refresh.chunk", "refresh.placed"]
)
def test_killed_on_the_way(replica: Replica, past: str, point: str) -> None:
    assert point in FAIL_POINTS
    targets(replica, {"name": "second", "location": past})
    replica.at_source("insert into t values (3, 'c')")
    die("replicate", replica.file, point)
    replica.at_source("insert into t values (4, 'd')", "update t set v = 'x' where id = 1")
    replica.settle()
    assert ask(past, "select count(*) from ddlrepl.unrecorded") == [(0,)]


def test_doctor_tells_of_it(replica: Replica, past: str, caplog: pytest.LogCaptureFixture) -> None:
    from airflow_ddlrepl.config.file.load import load_channel

    caplog.set_level(logging.ERROR)
    targets(replica, {"name": "second", "location": past}, {"name": "third", "location": DEAD})
    told = run_doctor(load_channel(replica.file))
    assert "ok   target second: it is new: the next cycle prepares it" in "\n".join(one.text() for one in told)
    assert not next(one for one in told if one.what.startswith("target third")).ok
    targets(replica, {"name": "second", "location": past})
    replica.settle()
    run(past, "drop schema ddlrepl cascade")
    told = run_doctor(load_channel(replica.file))
    assert "BAD  target second: target second has no state of channel shop" in "\n".join(one.text() for one in told)
