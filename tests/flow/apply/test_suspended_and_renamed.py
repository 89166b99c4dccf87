"""A suspended table and what happens at the source meanwhile: names, drops, types, breakpoints."""

from __future__ import annotations

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Make, Replica, may_differ
from tests.support.suspending import ACCEPT, ACCEPT_ALL, REFUSE, START, cycle_fails, states


@pytest.fixture
def replica(make: Make) -> Replica:
    made = make(*START)
    made.at_target(REFUSE)
    return made


def test_a_name_taken_over_a_drop_and_an_exchange_go_on_without_it(replica: Replica) -> None:
    """The suspended table gives way to one that takes its name; its own renames and its drop come with its rows."""
    replica.at_source("UPDATE bad SET v = 500 WHERE id = 1")
    cycle_fails(replica)
    replica.at_source(
        "ALTER TABLE bad RENAME TO old",
        "INSERT INTO old VALUES (5, 5)",
        "CREATE TABLE bad (id int PRIMARY KEY, t text)",
        "INSERT INTO bad VALUES (1, 'new')",
    )
    assert cycle_fails(replica).code == "INT-123"
    assert replica.rows("SELECT * FROM bad") == [(1, "new")]
    held = next(name for name, state in states(replica).items() if state == "suspended")
    replica.at_target(f'ALTER TABLE "{held}" DROP CONSTRAINT small')
    replica.settle()
    assert states(replica) == {"bad": "live", "good": "live", "old": "live"}


def test_the_table_that_is_refused_may_have_the_name_that_a_suspended_one_had(make: Make) -> None:
    """An error names a table; another one had this name when the target's transaction began."""
    made = make(*START, "CREATE TABLE third (id int PRIMARY KEY, v int)", "INSERT INTO third VALUES (3, 3)")
    made.at_target(REFUSE, REFUSE.replace("bad", "third"))
    made.at_source("UPDATE bad SET v = 500 WHERE id = 1")
    cycle_fails(made)
    made.at_source(
        "ALTER TABLE bad RENAME TO a; ALTER TABLE third RENAME TO bad; ALTER TABLE a RENAME TO third",
        "INSERT INTO bad VALUES (7, 700)",
        "ALTER TABLE good RENAME TO a; ALTER TABLE third RENAME TO good; ALTER TABLE a RENAME TO third",
        "INSERT INTO third VALUES (9, 9)",
    )
    assert cycle_fails(made).code == "INT-123"
    assert made.rows("SELECT * FROM third ORDER BY 1") == [(1, 1), (9, 9)]
    made.at_target(ACCEPT_ALL)
    made.settle()


EXCHANGED = "ALTER TABLE bad RENAME TO a; ALTER TABLE good RENAME TO bad; ALTER TABLE a RENAME TO good"


def both_suspended(make: Make) -> Replica:
    """A channel whose target has refused rows of both tables."""
    made = make(*START)
    made.at_target(REFUSE, REFUSE.replace("bad", "good"))
    made.at_source("UPDATE bad SET v = 500", "UPDATE good SET v = 500")
    cycle_fails(made)
    return made


def test_two_suspended_tables_that_exchange_their_names_are_caught_up_together(make: Make) -> None:
    made = both_suspended(make)
    made.at_source(EXCHANGED, "INSERT INTO good VALUES (7, 7)", "INSERT INTO bad VALUES (8, 8)")
    cycle_fails(made)
    made.at_target(ACCEPT, ACCEPT.replace("bad", "good"))
    assert made.settle().refresh.tables == {}
    assert states(made) == {"bad": "live", "good": "live"}


def test_a_table_that_needs_the_name_of_one_that_stays_suspended_is_loaded(make: Make) -> None:
    made = both_suspended(make)
    made.at_source(EXCHANGED)
    cycle_fails(made)
    made.at_target(ACCEPT)
    cycle_fails(made)
    assert cycle_fails(made).table != "public.good"
    assert made.rows("SELECT DISTINCT v FROM good") == [(500,)]
    made.at_target(ACCEPT_ALL)
    made.settle()
    assert states(made) == {"bad": "live", "good": "live"}


@pytest.mark.parametrize("is_captured", [True, False])
def test_two_suspended_tables_that_have_exchanged_their_names_are_loaded(make: Make, *, is_captured: bool) -> None:
    """Their renames come with their rows, so that each has the name that the other one gets."""
    made = both_suspended(make)
    made.at_source(EXCHANGED, "INSERT INTO good VALUES (7, 7)", "INSERT INTO bad VALUES (8, 8)")
    if is_captured:
        cycle_fails(made)
    with flow.open_channel(made.file, InProcess()) as run:
        flow.give_up(run)
    made.at_target(ACCEPT, ACCEPT.replace("bad", "good"))
    made.settle()
    assert states(made) == {"bad": "live", "good": "live"}


def test_a_table_whose_former_name_another_one_has_is_loaded_again(replica: Replica) -> None:
    replica.at_source("UPDATE bad SET v = 500 WHERE id = 1")
    cycle_fails(replica)
    replica.at_source(
        "ALTER TABLE bad RENAME TO passing",
        "ALTER TABLE passing RENAME TO last",
        "CREATE TABLE passing (id int PRIMARY KEY)",
        "INSERT INTO passing VALUES (1)",
    )
    assert cycle_fails(replica).code == "INT-123"
    replica.at_target(ACCEPT)
    assert replica.settle().refresh.tables == {"public.last": 2}
    assert states(replica) == {"good": "live", "last": "live", "passing": "live"}


def test_a_suspended_table_that_is_dropped_at_the_source(replica: Replica) -> None:
    """Its last rows are still to come, so it stays; a person may give them up."""
    replica.at_source("UPDATE bad SET v = 500 WHERE id = 1", "DROP TABLE bad", "INSERT INTO good VALUES (2, 2)")
    assert cycle_fails(replica).code == "INT-123"
    assert replica.rows("SELECT count(*) FROM good") == [(2,)]
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.give_up(run, ("public.bad",))
    replica.settle()
    assert states(replica) == {"bad": "kept", "good": "live"}
    assert replica.rows("SELECT count(*) FROM bad") == [(2,)]
    assert any("dropped" in why for why in may_differ(replica))


def test_a_type_that_others_share_goes_on_and_the_table_is_loaded_again(make: Make) -> None:
    made = make(
        "CREATE TYPE colour AS ENUM ('red')",
        "CREATE TABLE bad (id int PRIMARY KEY, c colour, v int)",
        "CREATE TABLE good (id int PRIMARY KEY, c colour)",
    )
    made.at_target(REFUSE)
    made.at_source("INSERT INTO bad VALUES (1, 'red', 500)")
    cycle_fails(made)
    made.at_source(
        "ALTER TYPE colour ADD VALUE 'blue'",
        "INSERT INTO good VALUES (1, 'blue')",
        "INSERT INTO bad VALUES (2, 'blue', 2)",
    )
    with pytest.raises(DdlReplError):
        made.replicate()
    assert made.rows("SELECT c::text FROM good") == [("blue",)]
    made.at_target("ALTER TABLE bad DROP CONSTRAINT IF EXISTS small")
    made.settle()


@pytest.mark.parametrize("is_known", [True, False], ids=["suspended before", "in one cycle"])
def test_a_suspended_table_waits_alone_at_a_breakpoint(make: Make, *, is_known: bool) -> None:
    made = make(*START, adapt_ddl=[{"add_table_pattern": "*", "on_enroll_break": "FAIL_INTEG_JOB"}])
    made.at_target(REFUSE)
    made.at_source("INSERT INTO bad VALUES (3, 500)")
    if is_known:
        cycle_fails(made)
    made.at_source("ALTER TABLE bad ALTER v TYPE text USING (v + 0)::text", "INSERT INTO good VALUES (2, 2)")
    assert "INT-105" in cycle_fails(made).message
    made.at_target(ACCEPT)
    for number in (3, 4):
        made.at_source(f"INSERT INTO bad VALUES ({number}0, 'x')", f"INSERT INTO good VALUES ({number}, 2)")
        error = cycle_fails(made)
        assert error.code == "INT-123" and "CTL-101" in error.message and "ddlrepl controls remove" in error.hint
        assert made.rows("SELECT max(id) FROM good") == [(number,)]
        assert made.rows("SELECT max(id) FROM bad") == [(3,)]
    with flow.open_channel(made.file, InProcess()) as run:
        (control,) = run.repository.controls("shop")
        assert (control.target, control.policy_name) == ("warehouse", "on_enroll_break")
        assert flow.status(run).to_json()["trail"]["segments"] > 0
        run.repository.remove_control("shop", control.id)
    made.settle()
    assert states(made) == {"bad": "live", "good": "live"}
