"""One bad table stops no other: it is suspended at its place in the log, and comes after when the reason is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.operators.messages.approvals import plan_text
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replayable import captured, replayable
from tests.support.replica import Make, Replica, channel_file
from tests.support.suspending import ACCEPT, REFUSE, START, cycle_fails, states


def set_at_target(replica: Replica, setting: str) -> None:
    text = replica.file.read_text()
    replica.file.write_text(text.replace("- name: warehouse", f"- name: warehouse\n  {setting}"))


@pytest.fixture
def replica(make: Make) -> Replica:
    made = make(*START)
    made.at_target(REFUSE)
    return made


def test_refused_rows_wait_and_come_in_order_when_the_reason_is_gone(replica: Replica) -> None:
    replica.at_source(
        "INSERT INTO bad VALUES (3, 3)", "UPDATE bad SET v = 500 WHERE id = 1", "INSERT INTO good VALUES (2, 2)"
    )
    error = cycle_fails(replica)
    assert (error.code, error.table) == ("INT-123", "public.bad")
    assert "INT-105" in error.message and "errors retry" in error.hint
    assert states(replica) == {"bad": "suspended", "good": "live"}
    assert replica.rows("SELECT * FROM good ORDER BY 1") == [(1, 1), (2, 2)]
    assert replica.rows("SELECT * FROM bad ORDER BY 1") == [(1, 1), (2, 2)]
    replica.at_source(
        "ALTER TABLE bad ADD w text DEFAULT 'x'",
        "INSERT INTO bad VALUES (4, 4, 'y')",
        "ALTER TABLE good RENAME v TO u",
        "INSERT INTO good VALUES (3, 3)",
    )
    assert cycle_fails(replica).code == "INT-123"
    assert replica.rows("SELECT id, u FROM good ORDER BY 1") == [(1, 1), (2, 2), (3, 3)]
    replica.at_target(ACCEPT)
    replica.settle()
    assert states(replica) == {"bad": "live", "good": "live"}
    replica.at_source("DELETE FROM bad WHERE id = 1", "UPDATE bad SET w = 'z' WHERE id = 4")
    replica.settle()


def test_a_plan_names_suspended_tables_with_their_reason(replica: Replica) -> None:
    replica.at_source("INSERT INTO bad VALUES (3, 500)")
    cycle_fails(replica)
    replica.at_source("ALTER TABLE bad ADD w int", "ALTER TABLE good ADD w int")
    found = replica.plan()
    (table,) = found.to_json()["suspended"]["warehouse"]
    assert table["table"] == "public.bad" and table["why"].startswith("INT-105: the target refuses rows")
    assert f"suspended: public.bad since {table['since']}: {table['why']}" in found.text()
    assert [str(plan.name) for plan in found.targets["warehouse"]] == ["public.good"]
    page = plan_text("shop", found.to_json(), "by_hand")
    assert "public.bad" in page and "drop the constraint" in page


def test_a_trigger_that_refuses_a_truncate(make: Make) -> None:
    made = make(*START)
    made.at_target(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stays as it is'; END $$",
        "CREATE TRIGGER no BEFORE TRUNCATE ON bad EXECUTE FUNCTION no()",
        "ALTER TABLE bad ENABLE ALWAYS TRIGGER no",
    )
    made.at_source("TRUNCATE bad", "INSERT INTO bad VALUES (9, 9)", "INSERT INTO good VALUES (2, 2)")
    assert "stays as it is" in cycle_fails(made).message
    assert states(made) == {"bad": "suspended", "good": "live"}
    made.at_target("DROP TRIGGER no ON bad")
    made.settle()


def test_one_of_several_tables_refuses_their_truncate(make: Make) -> None:
    made = make(*START)
    made.at_target(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stays as it is'; END $$",
        "CREATE TRIGGER no BEFORE TRUNCATE ON bad EXECUTE FUNCTION no()",
        "ALTER TABLE bad ENABLE ALWAYS TRIGGER no",
    )
    made.at_source("TRUNCATE good, bad", "INSERT INTO bad VALUES (9, 9)", "INSERT INTO good VALUES (2, 2)")
    assert "stays as it is" in cycle_fails(made).message
    assert states(made) == {"bad": "suspended", "good": "live"}
    assert made.rows("SELECT id FROM good") == [(2,)]
    made.at_target("DROP TRIGGER no ON bad")
    made.settle()


def test_retry_refresh_and_until(replica: Replica) -> None:
    replica.at_source("INSERT INTO bad VALUES (3, 300)")
    cycle_fails(replica)
    with flow.open_channel(replica.file, InProcess()) as run, pytest.raises(DdlReplError) as caught:
        flow.retry(run)
    assert caught.value.code == "INT-123"
    replica.at_target(ACCEPT)
    with flow.open_channel(replica.file, InProcess()) as run:
        assert flow.retry(run, ("public.b*",)).tables == ("public.bad",)
    replica.settle()
    replica.at_target(REFUSE.replace("100", "301"))
    replica.at_source("INSERT INTO bad VALUES (4, 400)")
    cycle_fails(replica)
    replica.at_source("UPDATE bad SET v = 4 WHERE id = 4")
    replica.refresh("public.bad")
    replica.settle()


def test_a_foreign_key_to_a_suspended_table_suspends_the_one_that_has_it(make: Make) -> None:
    made = make(
        "CREATE TABLE parent (id int PRIMARY KEY, v int)",
        "CREATE TABLE child (id int PRIMARY KEY, of int)",
        "CREATE TABLE good (id int PRIMARY KEY)",
        "INSERT INTO parent VALUES (1, 1)",
    )
    made.at_target(
        "ALTER TABLE parent ADD CONSTRAINT small CHECK (v < 100)",
        "ALTER TABLE child ADD CONSTRAINT of_parent FOREIGN KEY (of) REFERENCES parent",
    )
    made.at_source(
        "INSERT INTO parent VALUES (2, 200)",
        "INSERT INTO child VALUES (1, 2)",
        "INSERT INTO good VALUES (1)",
    )
    error = cycle_fails(made)
    assert made.rows("SELECT count(*) FROM good") == [(1,)]
    assert states(made)["parent"] == "suspended"
    if "child" in error.message:  # where the target's keys are looked at
        assert states(made)["child"] == "suspended"
    made.at_target("ALTER TABLE parent DROP CONSTRAINT small")
    made.settle()


def test_a_partition_suspends_its_whole_table_with_partitions_that_come_later(make: Make) -> None:
    made = make(
        "CREATE TABLE p (id int PRIMARY KEY, v int) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)",
        "CREATE TABLE joins (id int PRIMARY KEY, v int)",
        "CREATE TABLE good (id int PRIMARY KEY)",
        "INSERT INTO p VALUES (1, 1), (11, 11)",
        "INSERT INTO joins VALUES (31, 31)",
    )
    made.at_target("ALTER TABLE p1 ADD CONSTRAINT small CHECK (v < 100)")
    made.at_source("UPDATE p SET v = 500 WHERE id = 1", "INSERT INTO good VALUES (1)")
    cycle_fails(made)
    made.at_source(
        "ALTER TABLE p ADD w int DEFAULT 7",
        "CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (20) TO (30)",
        "INSERT INTO p VALUES (21, 21, 21), (12, 12, 12)",
        "INSERT INTO joins VALUES (32, 32)",
        "ALTER TABLE joins ADD w int DEFAULT 7",
        "ALTER TABLE p ATTACH PARTITION joins FOR VALUES FROM (30) TO (40)",
        "INSERT INTO p VALUES (33, 33, 33)",
        "ALTER TABLE p DETACH PARTITION p2",
        "INSERT INTO p2 VALUES (13, 13, 13)",
        "INSERT INTO good VALUES (2)",
    )
    assert cycle_fails(made).code == "INT-123"
    assert made.rows("SELECT count(*) FROM good") == [(2,)]
    assert {name for name, state in states(made).items() if state == "suspended"} == {"p", "p1", "p2", "joins"}
    made.at_target("ALTER TABLE p1 DROP CONSTRAINT small")
    made.settle()
    assert made.rows("SELECT sum(v), sum(w) FROM p") == [(500 + 21 + 31 + 32 + 33, 7 + 21 + 7 + 7 + 33)]


def test_a_table_becomes_a_partition_of_a_suspended_one_in_the_transaction_that_creates_it(make: Make) -> None:
    """What the transaction did to it before is applied, and not a second time when the partitioned table comes."""
    made = make(
        "CREATE TABLE p (id int PRIMARY KEY, v int) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE good (id int PRIMARY KEY)",
        "INSERT INTO p VALUES (1, 1)",
    )
    made.at_target("ALTER TABLE p1 ADD CONSTRAINT small CHECK (v < 100)")
    made.at_source("UPDATE p SET v = 500 WHERE id = 1")
    cycle_fails(made)
    made.at_source(
        "BEGIN; CREATE TABLE joins (id int PRIMARY KEY, v int); INSERT INTO joins VALUES (31, 31);"
        " ALTER TABLE p ATTACH PARTITION joins FOR VALUES FROM (30) TO (40); INSERT INTO p VALUES (32, 32); COMMIT",
        "INSERT INTO good VALUES (2)",
    )
    for _ in range(2):
        assert cycle_fails(made).code == "INT-123"
        assert made.rows("SELECT id FROM good") == [(2,)]
    made.at_target("ALTER TABLE p1 DROP CONSTRAINT small")
    made.settle()
    assert made.rows("SELECT sum(v) FROM p") == [(500 + 31 + 32,)]


def test_a_table_that_would_hold_too_much_of_the_trail_is_loaded_again(make: Make) -> None:
    made = make(*START)
    set_at_target(made, "suspended_log: 0")
    made.at_target(REFUSE)
    made.at_source("INSERT INTO bad VALUES (3, 300)")
    cycle_fails(made)
    made.at_source("UPDATE bad SET v = 3 WHERE id = 3", "INSERT INTO good VALUES (2, 2)")
    assert made.settle().refresh.tables == {"public.bad": 3}


def test_every_table_suspended_and_on_error_stop(make: Make) -> None:
    made = make(*START)
    made.at_target(REFUSE, REFUSE.replace("bad", "good"))
    made.at_source("INSERT INTO bad VALUES (3, 300)", "INSERT INTO good VALUES (3, 300)")
    error = cycle_fails(made)
    assert "public.bad" in error.message and "public.good" in error.message
    set_at_target(made, "on_error: stop")
    made.at_target(ACCEPT, ACCEPT.replace("bad", "good"))
    made.settle()
    made.at_target(REFUSE.replace("100", "301"))
    made.at_source("INSERT INTO bad VALUES (4, 400)", "INSERT INTO good VALUES (4, 400)")
    assert cycle_fails(made).code == "INT-105"
    assert made.rows("SELECT count(*) FROM good WHERE id = 4") == [(0,)]
    made.at_target(ACCEPT)
    made.settle()


def test_a_table_whose_function_is_missing_waits_and_the_next_cycle_creates_it(make: Make) -> None:
    made = make("CREATE TABLE good (id int PRIMARY KEY)")
    function = "CREATE FUNCTION twice(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 2'"
    made.at_source(
        function,
        "CREATE TABLE computed (id int PRIMARY KEY, v int GENERATED ALWAYS AS (twice(id)) STORED)",
        "INSERT INTO computed VALUES (1)",
        "CREATE TABLE parts (id int) PARTITION BY RANGE (twice(id))",
        "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100)",
        "INSERT INTO parts VALUES (4)",
        "CREATE TABLE altered (id int PRIMARY KEY)",
        "INSERT INTO altered VALUES (3)",
        "ALTER TABLE altered ADD v int GENERATED ALWAYS AS (twice(id)) STORED",
        "INSERT INTO altered VALUES (5)",
        "INSERT INTO good VALUES (1)",
    )
    error = cycle_fails(made)
    assert made.rows("SELECT count(*) FROM good") == [(1,)]
    assert "twice" in f"{error.message}"
    assert "CREATE" in error.hint and "FUNCTION" in error.hint, error.hint
    made.at_target(function)
    made.settle()
    assert set(states(made).values()) == {"live"}


def test_an_activation_loads_the_tables_that_the_target_can_have(databases: Any, tmp_path: Path) -> None:
    file = channel_file(tmp_path, databases.source, databases.target)
    made = Replica(databases.source, databases.target, file)
    function = "CREATE FUNCTION twice(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 2'"
    made.at_source(
        *START,
        function,
        "CREATE TABLE parts (id int) PARTITION BY RANGE (twice(id))",
        "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE named (id int PRIMARY KEY, c regclass)",
        "INSERT INTO named VALUES (1, 'bad')",
        "INSERT INTO parts VALUES (4)",
    )
    with pytest.raises(DdlReplError, match="twice") as caught:
        made.activate()
    assert caught.value.table == "public.parts" and "CREATE OR REPLACE FUNCTION" in caught.value.hint
    assert made.rows("SELECT count(*) FROM bad") == [(2,)]
    assert states(made)["parts"] == "new" and states(made)["bad"] == "live"
    made.at_source(
        "CREATE TABLE later (id int)", "INSERT INTO named VALUES (2, 'later')", "INSERT INTO bad VALUES (3, 3)"
    )
    with pytest.raises(DdlReplError):
        made.replicate()
    assert made.rows("SELECT count(*) FROM bad") == [(3,)]
    made.at_target(function)
    made.settle()


def test_a_rewind_of_the_target_brings_a_suspended_table_up(databases: Any, past: str, tmp_path: Path) -> None:
    made = replayable(databases, tmp_path, location=past)
    made.at_source(*START)
    made.activate()
    made.at_source("INSERT INTO bad VALUES (3, 3)")
    before = captured(made)
    made.at_target("DELETE FROM bad WHERE id = 3")
    made.at_source("UPDATE bad SET v = 4 WHERE id = 3", "ALTER TABLE bad ADD w int DEFAULT 7")
    assert cycle_fails(made).code == "INT-123"
    made.rewind(before, "")
    assert states(made)["bad"] == "live"
    made.check_equal()
