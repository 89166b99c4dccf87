"""Rules: what a target does not take does nothing there, is counted, and is told until the next refresh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import DdlReplError
from tests.conftest import Databases
from tests.support.replayable import HORIZON, captured, read
from tests.support.replica import Replica, channel_file, may_differ

START = (
    "CREATE TABLE t (id int PRIMARY KEY, a int)",
    "CREATE TABLE u (id int PRIMARY KEY)",
    "INSERT INTO t VALUES (1, 1)",
    "INSERT INTO u VALUES (1)",
)
T, U = {"tables": ["public.t"]}, {"tables": ["public.u"]}
ROWS = "SELECT to_jsonb(t) FROM t ORDER BY id"


def ruled(databases: Databases, folder: Path, **rules: Any) -> Replica:
    """A channel whose only target has these rules, activated."""
    replica = Replica(databases.source, databases.target, ruled_file(databases, folder, **rules))
    replica.at_source(*START)
    replica.activate()
    return replica


def ruled_file(databases: Databases, folder: Path, **rules: Any) -> Path:
    targets = [{"name": "warehouse", "location": databases.target, "rules": rules}]
    return channel_file(folder, databases.source, databases.target, targets=targets)


@pytest.mark.req("XR-02")
def test_a_schema_change_that_a_rule_discards_plans_nothing(databases: Databases, tmp_path: Path) -> None:
    """Whatever the policies say; the rows go on with the columns that the target has."""
    replica = ruled(databases, tmp_path, negative=[{**T, "dml": False}])
    replica.at_source(
        "ALTER TABLE t ADD b int DEFAULT 7",
        "ALTER TABLE t ALTER a TYPE bigint",
        "INSERT INTO t VALUES (2, 2, 2)",
        "ALTER TABLE u ADD c int",
    )
    plans = {plan.name.name: plan for plan in replica.plan().targets["warehouse"]}
    assert (plans["t"].sql, plans["t"].needs_refresh, plans["t"].policies) == (
        (),
        False,
        ("rules.negative[0] discards its DDL",),
    )
    done = replica.replicate()
    assert done.discarded == {"public.t: rules.negative[0] discards its DDL": 2}
    assert "discarded: 2 x public.t: rules.negative[0] discards its DDL" in done.text()
    assert (done.adapt.statements, done.refresh.tables) == (1, {})
    assert replica.rows(ROWS) == [({"id": 1, "a": 1},), ({"id": 2, "a": 2},)]
    assert replica.rows("SELECT to_jsonb(u) FROM u") == [({"id": 1, "c": None},)]
    assert [why.partition(": ")[2] for why in may_differ(replica)] == ["rules.negative[0] discards its DDL"]
    assert replica.replicate().discarded == {}


@pytest.mark.req("ST-R-11")
def test_row_changes_that_a_rule_discards_are_counted(databases: Databases, tmp_path: Path) -> None:
    """The table follows the source's shape; its rows stay."""
    replica = ruled(databases, tmp_path, negative=[{**T, "ddl": False}])
    replica.at_source("UPDATE t SET a = 5", "INSERT INTO t VALUES (2, 2), (3, 3)", "INSERT INTO u VALUES (2)")
    replica.at_source("ALTER TABLE t ADD b int", "DELETE FROM t WHERE id = 3")
    done = replica.replicate()
    assert done.discarded == {"public.t: rules.negative[0] discards its DML": 4}
    assert replica.rows(ROWS) == [({"id": 1, "a": 1, "b": None},)]
    assert replica.rows("SELECT count(*) FROM u") == [(2,)]
    assert len(may_differ(replica)) == 1
    replica.at_source("INSERT INTO t VALUES (4, 4, 4)")
    assert replica.replicate().discarded == {"public.t: rules.negative[0] discards its DML": 1}
    assert len(may_differ(replica)) == 1
    replica.refresh("public.t")
    assert may_differ(replica) == []
    replica.check_equal()


def test_what_a_refresh_brought_was_not_discarded(databases: Databases, tmp_path: Path) -> None:
    replica = ruled(databases, tmp_path, negative=[{**T, "ddl": False}])
    replica.at_source("INSERT INTO t VALUES (2, 2)")
    replica.refresh("public.t")
    assert replica.replicate().discarded == {}
    replica.check_equal()


@pytest.mark.req("XR-03", "ST-S-78")
def test_a_truncate_is_a_schema_change_to_rules(databases: Databases, tmp_path: Path) -> None:
    """It stands in the stream of the rows, and rules for DDL decide on it."""
    replica = ruled(databases, tmp_path, positive=[{**T, "ddl": False}, {**U, "dml": False}])
    replica.at_source("TRUNCATE t", "INSERT INTO t VALUES (9, 9)", "TRUNCATE u", "INSERT INTO u VALUES (9)")
    done = replica.replicate()
    assert (done.capture.ddl, done.adapt.changes) == ({"TRUNCATE": 2}, {"truncate": 1})
    assert replica.rows(ROWS) == [({"id": 1, "a": 1},), ({"id": 9, "a": 9},)]
    assert replica.rows("SELECT * FROM u") == []
    assert done.discarded == {
        "public.t: rules.positive has none for its DDL": 1,
        "public.u: rules.positive has none for its DML": 1,
    }


def test_a_table_of_which_a_target_takes_nothing_is_not_there(databases: Databases, tmp_path: Path) -> None:
    replica = ruled(databases, tmp_path, positive=[T, {"tables": ["public.n*"]}])
    assert replica.rows("SELECT to_regclass('u')") == [(None,)]
    replica.at_source("INSERT INTO u VALUES (2), (3)", "INSERT INTO t VALUES (2, 2)", "ALTER TABLE u ADD b int")
    replica.at_source("CREATE TABLE new (id int PRIMARY KEY)", "CREATE TABLE other (id int PRIMARY KEY)")
    replica.at_source("INSERT INTO new VALUES (1)", "INSERT INTO other VALUES (1), (2), (3)")
    done = replica.settle()
    assert done.discarded == {
        "public.u: rules.positive has none for its DML": 2,
        "public.u: rules.positive has none for its DDL": 1,
        "public.other: rules.positive has none for its DML": 3,
        "public.other: rules.positive has none for its DDL": 1,
    }
    assert replica.rows("SELECT to_regclass('u'), to_regclass('other'), to_regclass('new')") == [(None, None, "new")]
    with pytest.raises(DdlReplError) as refused:
        replica.refresh("public.u")
    assert refused.value.code == "CFG-131"


def test_a_new_table_whose_creation_is_discarded(databases: Databases, tmp_path: Path) -> None:
    replica = ruled(databases, tmp_path, negative=[{"tables": ["public.n"], "dml": False}])
    replica.at_source("CREATE TABLE n (id int PRIMARY KEY)", "INSERT INTO n VALUES (1), (2)")
    assert replica.replicate().discarded == {
        "public.n: rules.negative[0] discards its DDL": 1,
        "public.n: the target has no such table": 2,
    }
    assert replica.rows("SELECT to_regclass('n')") == [(None,)]


def test_a_rewind_obeys_the_rules_of_its_place(databases: Databases, past: str, tmp_path: Path) -> None:
    """A replay has rules of its own; what is built for a live target has the target's."""
    replays = [{"name": "past", "location": past, "rules": {"positive": [T]}}]
    targets = [{"name": "warehouse", "location": databases.target, "rules": {"negative": [{**U, "ddl": False}]}}]
    more: dict[str, Any] = {"targets": targets, "replays": replays, "rewind_horizon": HORIZON}
    replica = Replica(
        databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target, **more)
    )
    replica.at_source(*START)
    replica.activate()
    begin = captured(replica)
    replica.at_source("INSERT INTO u VALUES (2)", "ALTER TABLE t ADD b int", "INSERT INTO t VALUES (2, 2, 2)")
    replica.replicate()
    replica.rewind(begin)
    assert read(past, ROWS) == [({"id": 1, "a": 1},)]
    assert read(past, "SELECT to_regclass('u')") == [(None,)]
    replica.at_target("DELETE FROM t", "DELETE FROM u")
    replica.rewind(begin, "warehouse")
    assert replica.rows(ROWS) == [({"id": 1, "a": 1, "b": None},), ({"id": 2, "a": 2, "b": 2},)]
    assert replica.rows("SELECT id FROM u") == [(1,)]


def test_what_is_no_table_of_the_channel_is_counted(databases: Databases, tmp_path: Path) -> None:
    """By its pattern: only the schema changes come by, the rows are not in the stream."""
    few = channel_file(tmp_path, databases.source, databases.target, source={"tables": ["public.t"]}, adapt_ddl=[])
    replica = Replica(databases.source, databases.target, few)
    replica.at_source(*START)
    replica.activate()
    replica.at_source(
        "ALTER TABLE u ADD b int", "CREATE TABLE w (id int)", "INSERT INTO w VALUES (1)", "DROP TABLE w, u"
    )
    done = replica.replicate()
    kinds = ("ALTER TABLE", "CREATE TABLE", "DROP TABLE")
    assert done.discarded == {f"{kind}: about no table of the channel": 1 for kind in kinds}
    assert (done.capture.ddl, done.capture.rows) == ({}, 0)
    replica.at_source("ALTER TABLE t ADD b int")
    assert replica.settle().discarded == {}


def test_what_was_left_out_comes_with_the_next_change_once_the_rule_is_gone(
    databases: Databases, tmp_path: Path
) -> None:
    replica = ruled(databases, tmp_path, negative=[{**T, "dml": False}])
    replica.at_source("ALTER TABLE t ADD b int DEFAULT 7", "INSERT INTO t VALUES (2, 2)")
    replica.replicate()
    ruled_file(databases, tmp_path)
    replica.at_source("INSERT INTO t VALUES (3, 3)", "ALTER TABLE t ADD c int", "INSERT INTO t VALUES (4, 4, 4, 4)")
    assert replica.settle().refresh.tables == {"public.t": 4}
    assert may_differ(replica) == []


def test_rules_go_by_the_name_before_a_rename(databases: Databases, tmp_path: Path) -> None:
    replica = ruled(databases, tmp_path, negative=[{"tables": ["public.t"], "dml": False}])
    replica.at_source("ALTER TABLE t RENAME TO v", "INSERT INTO v VALUES (2, 2)", "ALTER TABLE v ADD b int")
    done = replica.replicate()
    assert done.discarded == {"public.v: rules.negative[0] discards its DDL": 1}
    replica.check_equal()  # v is no table of the rule's: its next change brings the name, too
