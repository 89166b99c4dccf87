"""Changes for a target with `apply_every` are gathered in the trail, and come to it in their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli import commands
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ControlStop, TablesSuspended
from airflow_ddlrepl.flow.apply import integrate
from airflow_ddlrepl.flow.cutover import cut_over
from airflow_ddlrepl.flow.cycle.replicate import replicate
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.repository import Repository
from tests.flow.health.test_channel_health import health
from tests.support.lakes.apply_times import EVERY, LONG_AGO, gathering, last_applied, set_every
from tests.support.replica import Make, Replica
from tests.support.suspending import ACCEPT, REFUSE, START, cycle_fails

ONE = "INSERT INTO t VALUES (1, 1)"


def ids(replica: Replica, table: str = "t") -> list[int]:
    return [found for (found,) in replica.rows(f"SELECT id FROM {table} ORDER BY 1")]


def status(replica: Replica) -> tuple[dict[str, Any], str]:
    with flow.open_channel(replica.file, InProcess()) as run:
        found = flow.status(run)
        return found.to_json()["targets"]["warehouse"], found.text()


def verdict(replica: Replica, later: float = 0) -> tuple[str, str]:
    (found,) = (one["verdict"] for one in health(replica, later)["targets"])
    return found["level"], found["sentence"]


def test_rows_are_captured_in_each_cycle_and_applied_when_the_time_is_over(make: Make) -> None:
    replica = gathering(make)
    for number in (1, 2):
        replica.at_source(f"INSERT INTO t VALUES ({number}, 0)")
        done = replica.replicate()
        assert (done.capture.rows, done.integrate.rows, done.integrate.positions) == (1, {}, {})
        assert done.integrate.waiting.keys() == done.adapt.waiting.keys() == {"warehouse"}
        assert f"target warehouse waits until {done.integrate.waiting['warehouse']['until']}" in done.text()
    assert ids(replica) == [0]
    last_applied(replica, LONG_AGO)
    done = replica.settle()
    assert done.integrate.rows == {"changes": 2, "inserted": 2} and not done.integrate.waiting
    replica.at_source("INSERT INTO t VALUES (3, 0)")
    assert replica.replicate().integrate.waiting, "the time begins again"


def test_schema_changes_wait_with_the_rows_around_them(make: Make) -> None:
    replica = gathering(make)
    replica.at_source(
        ONE, "ALTER TABLE t ADD w text DEFAULT 'x'", "INSERT INTO t VALUES (2, 2, 'y')", "CREATE TABLE u (id int)"
    )
    done = replica.replicate()
    assert done.adapt.waiting and not done.adapt.changes and ids(replica) == [0]
    assert replica.rows("SELECT count(*) FROM pg_attribute WHERE attname = 'w'") == [(0,)]
    last_applied(replica, LONG_AGO)
    replica.settle()
    assert replica.rows("SELECT id, w FROM t ORDER BY 1") == [(0, "x"), (1, "x"), (2, "y")]


def test_what_is_not_known_to_be_recent_is_applied(make: Make) -> None:
    """The first apply, one that the clock says is to come, and a target that has just got the setting."""
    replica = make("CREATE TABLE t (id int PRIMARY KEY, v int)")
    replica.at_source(ONE)
    replica.settle()
    set_every(replica)
    replica.at_source("INSERT INTO t VALUES (2, 2)")
    replica.settle()
    last_applied(replica, -3600)
    replica.at_source("INSERT INTO t VALUES (3, 3)")
    replica.settle()
    assert ids(replica) == [1, 2, 3]


def test_as_much_log_as_a_window_does_not_wait(make: Make) -> None:
    replica = gathering(make, capture={"window_bytes": 1 << 20})
    replica.at_source("INSERT INTO t SELECT i, i FROM generate_series(1, 2000) i")
    assert replica.replicate().integrate.waiting
    replica.at_source("INSERT INTO t SELECT i, i FROM generate_series(2001, 12000) i")
    done = replica.settle()
    assert done.integrate.rows["inserted"] == 12000


def test_log_without_changes_moves_the_target_and_is_no_apply(make: Make) -> None:
    replica = gathering(make)
    with Repository.open(load_channel(replica.file).repository) as repository:
        before = repository.last_apply("shop", "warehouse")
        replica.at_source("CREATE SEQUENCE s", "SELECT pg_logical_emit_message(true, 'other', 'x')")
        done = replica.replicate()
        after = repository.last_apply("shop", "warehouse")
    assert done.integrate.positions["warehouse"] == done.capture.high and not done.integrate.waiting
    assert before is not None and after is not None and before.at == after.at


def test_a_person_can_have_it_at_once(make: Make) -> None:
    replica = gathering(make)
    replica.at_source(ONE)
    assert replica.replicate().integrate.waiting
    commands.replicate(replica.file, applies_now=True)
    replica.check_equal()
    replica.at_source("INSERT INTO t VALUES (2, 2)")
    high = replica.capture().high
    assert replica.replicate(until=str(high)).integrate.positions["warehouse"] == high
    assert ids(replica) == [0, 1, 2]


def test_what_a_run_has_begun_to_apply_does_not_wait(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it need not have begun: a lake of which a part of a window is seen is brought to its end."""
    replica = gathering(make)
    replica.at_source(ONE)

    def killed(*_: Any) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched, flow.open_channel(replica.file, InProcess()) as run:
        patched.setattr(integrate, "bring", killed)
        run.targets.applies_now = True
        with pytest.raises(RuntimeError):
            flow.replicate(run)
    assert not replica.settle().integrate.waiting


def test_a_cut_over_brings_all(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = gathering(make)
    replica.at_source(ONE)
    assert replica.replicate().integrate.waiting
    done: list[Any] = []
    monkeypatch.setattr(cut_over, "replicate", lambda *how: done.append(replicate(*how)))
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.cut_over(run)
    assert done[0].integrate.rows["inserted"] == 1, "while applications may still write"
    assert ids(replica) == [0, 1]


def test_a_table_that_was_loaded_is_not_left_ahead_of_the_others(make: Make) -> None:
    replica = gathering(make, "CREATE TABLE u (id int PRIMARY KEY)")
    replica.at_source(ONE, "INSERT INTO u VALUES (1)")
    assert replica.replicate().integrate.waiting
    replica.refresh("public.t")
    assert (ids(replica), ids(replica, "u")) == ([0, 1], [])
    assert not replica.settle().integrate.waiting
    assert ids(replica, "u") == [1]


def test_a_suspended_table_is_tried_in_each_cycle(make: Make) -> None:
    replica = gathering(make, *START)
    replica.at_target(REFUSE)
    replica.at_source("INSERT INTO bad VALUES (3, 500)")
    last_applied(replica, LONG_AGO)
    assert isinstance(cycle_fails(replica), TablesSuspended)
    replica.at_source(ONE)
    assert isinstance(cycle_fails(replica), TablesSuspended)
    assert ids(replica) == [0, 1]
    replica.at_target(ACCEPT)
    replica.settle()
    replica.at_source("INSERT INTO t VALUES (2, 2)")
    assert replica.replicate().integrate.waiting


def test_a_control_is_told_in_each_cycle_and_what_it_held_comes_at_once(make: Make) -> None:
    replica = gathering(make, adapt_ddl=[{"add_table_pattern": "*", "on_enroll_break": "FAIL_INTEG_JOB"}])
    replica.at_source(ONE, "ALTER TABLE t ALTER v TYPE text USING v::text || '!'")
    last_applied(replica, LONG_AGO)
    for _ in range(2):
        assert isinstance(cycle_fails(replica), ControlStop)
    with Repository.open(load_channel(replica.file).repository) as repository:
        (control,) = repository.controls("shop")
        repository.remove_control("shop", control.id, "anna")
    assert not replica.replicate().integrate.waiting
    assert replica.rows("SELECT atttypid::regtype::text FROM pg_attribute WHERE attname = 'v'") == [("text",)]


def test_what_a_target_waits_for_does_not_expire(make: Make) -> None:
    replica = gathering(make, retention={"age": 0})
    replica.at_source(ONE)
    assert replica.replicate().integrate.waiting
    replica.at_source("INSERT INTO t VALUES (2, 2)")
    assert replica.replicate().integrate.expired == 0
    last_applied(replica, LONG_AGO)
    done = replica.settle()
    assert done.integrate.expired >= 2 and ids(replica) == [0, 1, 2]


def test_other_targets_are_brought_on_meanwhile(make: Make, tmp_path: Path) -> None:
    replica = gathering(make)
    data = yaml.safe_load(replica.file.read_text())
    data["targets"].append({"name": "copy", "location": f"duckdb://{tmp_path}/copy.duckdb"})
    replica.file.write_text(yaml.safe_dump(data, sort_keys=False))
    replica.settle()
    replica.at_source(ONE)
    done = replica.replicate()
    assert done.integrate.waiting.keys() == {"warehouse"} and done.integrate.positions.keys() == {"copy"}
    assert done.integrate.rows["inserted"] == 1 and ids(replica) == [0]
    last_applied(replica, LONG_AGO)
    replica.settle()


def test_the_status_tells_a_wait_and_its_end(make: Make) -> None:
    replica = gathering(make)
    assert status(replica)[0]["waits_until"] is None
    replica.at_source(ONE)
    until = replica.replicate().integrate.waiting["warehouse"]["until"]
    found, text = status(replica)
    assert (found["apply_every"], found["waits_until"]) == (EVERY, until) and found["lag_seconds"] is not None
    assert f"waits until {until} (apply_every)" in text
    level, sentence = verdict(replica)
    assert level == "good" and sentence.startswith("waits until ") and "behind the source" in sentence
    (target,) = health(replica)["targets"]
    assert target["waits_until"] == until
    commands.replicate(replica.file, applies_now=True)
    assert "waits" not in verdict(replica)[1] and health(replica)["targets"][0]["waits_until"] is None


@pytest.mark.parametrize(("late", "level"), [(EVERY + 200, "good"), (EVERY + 400, "late")])
def test_later_than_a_cycle_after_the_wait_is_late(make: Make, late: float, level: str) -> None:
    replica = gathering(make)
    replica.at_source(ONE)
    replica.replicate()
    with Repository.open(load_channel(replica.file).repository) as repository:
        row = repository.stored_status("shop")
        assert row is not None and row.content is not None
        row.content["targets"]["warehouse"]["lag_seconds"] = late
        repository.set_status("shop", row)
    assert verdict(replica, 5)[0] == level


def test_the_stages_of_one_run_go_on_together_and_no_app_is_started_to_wait(make: Make) -> None:
    """As a DAG's tasks do it, each in a process of its own."""
    replica = gathering(make)
    channel = load_channel(replica.file)
    replica.at_source(ONE)
    replica.capture()
    assert not flow.do_here(channel, "adapt", "monday") and not flow.do_here(channel, "integrate", "monday")
    assert ids(replica) == [0]
    with flow.RunContext(channel, InProcess(), "monday") as run:
        assert flow.integrate(run).waiting
    replica.at_source("ALTER TABLE t ADD w int", "INSERT INTO t VALUES (2, 2, 2)")
    replica.capture()
    last_applied(replica, LONG_AGO)
    assert flow.do_here(channel, "adapt", "tuesday")
    with flow.RunContext(channel, InProcess(), "tuesday") as run:
        assert flow.adapt(run).changes == {"add_column": 1}
    assert ids(replica) == [0, 1]
    assert not flow.do_here(channel, "integrate", "wednesday")
    assert flow.do_here(channel, "integrate", "tuesday")
    with flow.RunContext(channel, InProcess(), "tuesday") as run:
        assert not flow.integrate(run).waiting
    assert ids(replica) == [0, 1, 2]
