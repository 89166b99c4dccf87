"""`conflicts`: a target's row is not the one that a change was made to, and the file says which of both counts."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.crashing import die
from tests.support.replica import BOTH, Make, Replica

TABLE = (
    "CREATE TABLE t (id int PRIMARY KEY, v text, changed int)",
    "INSERT INTO t SELECT i, 'v' || i, 1 FROM generate_series(1, 9) i",
)
ALL = "SELECT * FROM t ORDER BY id"


def told(result: Any) -> dict[str, int]:
    return {what.removeprefix("public.t: "): count for what, count in result.conflicts.items()}


ANSWERS = {
    "insert_row_exists": {"use_max": "changed"},
    "update_row_exists": {"use_max": "changed"},
    "update_row_missing": "overwrite",
    "delete_row_exists": "ignore",
    "delete_row_missing": "ignore",
}
RESOLVED = [
    (1, "there", 9),
    (2, "here", 5),
    (3, "there", 1),
    (4, "here", 5),
    (7, "there", 1),
    (8, "v8", 1),
    (9, "v9", 1),
    (10, "there", 9),
    (11, "here", 5),
    (12, "there", 2),
]
TOLD = {
    "insert_row_exists, use_max (changed): applied": 1,
    "insert_row_exists, use_max (changed): left out": 1,
    "update_row_exists, use_max (changed): applied": 1,
    "update_row_exists, use_max (changed): left out": 1,
    "update_row_missing, overwrite: applied": 1,
    "delete_row_exists, ignore: left out": 1,
    "delete_row_missing, ignore: left out": 1,
}


def conflicting(make: Make) -> Replica:
    """Each kind once with a change that wins and, where values decide, one that loses."""
    replica = make(*TABLE, conflicts=[{"tables": "t", **ANSWERS}])
    replica.at_target(
        "INSERT INTO t VALUES (10, 'here', 5), (11, 'here', 5)",
        "UPDATE t SET v = 'here', changed = 5 WHERE id IN (1, 2, 4)",
        "DELETE FROM t WHERE id IN (3, 5)",
    )
    replica.at_source(
        "INSERT INTO t VALUES (10, 'there', 9), (11, 'there', 2), (12, 'there', 2)",
        "UPDATE t SET v = 'there', changed = 9 WHERE id = 1",
        "UPDATE t SET v = 'there', changed = 3 WHERE id = 2",
        "UPDATE t SET v = 'there' WHERE id = 3",
        "DELETE FROM t WHERE id IN (4, 5, 6)",
        "UPDATE t SET v = 'there' WHERE id = 7",
    )
    return replica


@BOTH
def test_every_conflict_has_the_answer_of_the_file(make: Make) -> None:
    replica = conflicting(make)
    result = replica.replicate()
    assert replica.rows(ALL) == RESOLVED
    assert told(result) == TOLD


@pytest.mark.parametrize("point", ["staged", "rows", "transaction", "committed"])
def test_a_run_that_is_killed_among_conflicts_resolves_each_once(point: str, make: Make) -> None:
    replica = conflicting(make)
    replica.capture()
    die("integrate", replica.file, f"integrate.{point}")
    replica.replicate()
    assert replica.rows(ALL) == RESOLVED
    with flow.open_channel(replica.file, InProcess()) as run:
        (table,) = flow.status(run).to_json()["targets"]["warehouse"]["tables"]
    assert table["conflicts"] == TOLD


def test_a_conflict_without_an_answer_suspends_the_table(make: Make) -> None:
    """An entry answers some kinds; another one is an error with the key, and nothing of the table is applied."""
    replica = make(*TABLE, conflicts=[{"update_row_exists": "ignore"}])
    replica.at_target("UPDATE t SET v = 'here' WHERE id = 1", "DELETE FROM t WHERE id = 2")
    replica.at_source("UPDATE t SET v = 'there' WHERE id IN (1, 2)")
    with pytest.raises(DdlReplError, match=r"INT-150") as raised:
        replica.replicate()
    assert "update_row_missing: an update finds no row; 1 changes, one with key (2)" in str(raised.value)
    assert replica.rows(ALL)[:2] == [(1, "here", 1), (3, "v3", 1)]
    text = replica.file.read_text().replace(
        "- update_row_exists: ignore", "- {update_row_exists: ignore, update_row_missing: overwrite}"
    )
    replica.file.write_text(text)
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.retry(run, [])
    assert replica.rows(ALL)[:3] == [(1, "here", 1), (2, "there", 1), (3, "v3", 1)]


def test_a_discarded_change_is_listed_until_its_row_changes_again(make: Make) -> None:
    """Also at a target that an older version has prepared, which lacks the tables or a column of them."""
    replica = make(*TABLE, conflicts=[{"update_row_exists": "discard", "delete_row_exists": "discard"}])
    replica.at_target(
        "UPDATE t SET v = 'here' WHERE id IN (1, 2)",
        "DROP TABLE ddlrepl.conflicts",
        "ALTER TABLE ddlrepl.discarded_rows DROP COLUMN conflict, DROP COLUMN number",
    )
    replica.at_source("UPDATE t SET v = 'there', changed = 2 WHERE id = 1", "DELETE FROM t WHERE id = 2")
    result = replica.replicate()
    assert told(result) == {
        "delete_row_exists, discard: discarded": 1,
        "update_row_exists, discard: discarded": 1,
    }
    with flow.open_channel(replica.file, InProcess()) as run:
        found = {row["message"] for row in flow.discarded_rows(run)}
        assert {row["code"] for row in flow.discarded_rows(run)} == {"INT-153"}
        status = flow.status(run).text()
    assert found == {
        "the change is discarded: update_row_exists: an update finds another row than it was made to:"
        ' {"v": "there", "id": "1", "changed": "2"}',
        "the change is discarded: delete_row_exists: a delete finds another row than it was made to:"
        ' {"v": "v2", "id": "2", "changed": "1"}',
    }
    assert "2 rows are discarded: ddlrepl errors" in status
    assert "conflicts: 1 x update_row_exists, discard: discarded" in status
    replica.at_target("UPDATE t SET v = 'there', changed = 2 WHERE id = 1")
    replica.at_source("UPDATE t SET v = 'later' WHERE id = 1")
    assert told(replica.replicate()) == {}
    with flow.open_channel(replica.file, InProcess()) as run:
        assert [row["message"].split(":")[1] for row in flow.discarded_rows(run)] == [" delete_row_exists"]
    assert replica.rows(ALL)[:2] == [(1, "later", 2), (2, "here", 1)]


def test_columns_that_are_not_compared_keep_what_each_end_wrote(make: Make) -> None:
    """An update finds no conflict in them, and sets only the columns that the source has changed."""
    conflicts = [
        {"tables": "t", "compare": ["changed"], "update_row_exists": "overwrite"},
        {"compare": "key", "update_row_missing": "ignore"},
    ]
    replica = make(
        *TABLE,
        "CREATE TABLE k (id int PRIMARY KEY, a int, b float)",
        "INSERT INTO k VALUES (1, 1, 'NaN')",
        conflicts=conflicts,
    )
    replica.at_target(
        "UPDATE t SET v = 'here' WHERE id = 1",
        "UPDATE t SET v = 'here', changed = 2 WHERE id = 2",
        "UPDATE k SET b = 7",
    )
    replica.at_source("UPDATE t SET changed = 3 WHERE id IN (1, 2)", "UPDATE k SET a = 5")
    result = replica.replicate()
    assert told(result) == {"update_row_exists, overwrite: applied": 1}
    assert replica.rows(ALL)[:2] == [(1, "here", 3), (2, "v2", 3)]
    assert replica.rows("SELECT * FROM k") == [(1, 5, 7.0)]


def test_a_row_that_comes_while_conflicts_are_looked_for_is_found(make: Make) -> None:
    """An application inserts the key, and commits when the merge waits for it."""
    replica = make(*TABLE, conflicts=[{"insert_row_exists": {"use_max": ["changed", "v"]}}])
    replica.at_source("INSERT INTO t VALUES (20, 'there', 5), (21, 'there', 5)")
    with psycopg.connect(replica.target) as application:
        application.execute("INSERT INTO t VALUES (20, 'here', 5), (21, 'zero', 5)")
        ends = threading.Timer(1.0, application.commit)
        ends.start()
        result = replica.replicate()
        ends.join()
    assert told(result) == {
        "insert_row_exists, use_max (changed, v): applied": 1,
        "insert_row_exists, use_max (changed, v): left out": 1,
    }
    assert replica.rows("SELECT * FROM t WHERE id > 9 ORDER BY id") == [(20, "there", 5), (21, "zero", 5)]


def test_values_without_an_order_decide_nothing(make: Make) -> None:
    table = "CREATE TABLE p (id int PRIMARY KEY, at point)"
    replica = make(table, "INSERT INTO p VALUES (1, '(1,1)')", conflicts=[{"update_row_exists": {"use_max": "at"}}])
    replica.at_target("UPDATE p SET at = '(2,2)'")
    replica.at_source("UPDATE p SET at = '(3,3)'")
    with pytest.raises(DdlReplError, match=r"INT-152.*values of at can't be compared"):
        replica.replicate()


def test_what_can_not_be_resolved_is_refused_where_it_is_set_up(make: Make) -> None:
    replica = make(
        *TABLE, "CREATE TABLE n (a int)", conflicts=[{"tables": "t", "update_row_exists": {"use_max": "changed"}}]
    )
    text = replica.file.read_text()
    replica.file.write_text(text.replace("- tables: t\n", "- tables: n\n").replace("use_max: changed", "use_max: a"))
    with pytest.raises(DdlReplError, match=r"INT-151.*has no key"):
        replica.replicate()
    replica.file.write_text(text)
    replica.at_source("UPDATE t SET v = 'w' WHERE id = 1", "ALTER TABLE t DROP COLUMN changed")
    with pytest.raises(DdlReplError, match=r"INT-151.*has no column changed"):
        replica.replicate()
