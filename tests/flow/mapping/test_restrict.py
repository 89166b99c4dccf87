"""restrict: a target has exactly those rows of a table that a condition is true for, whatever becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica
from tests.support.restricting import EU, FULL, ROWS, TABLE, begun, check, ids, settled

Begin = Callable[..., Replica]
LONG = "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 500) i)"


@pytest.fixture
def begin(databases: Any, tmp_path: Path) -> Begin:
    return partial(begun, databases, tmp_path)


@pytest.mark.req("XR-05")
def test_rows_come_stay_and_go_by_updates(begin: Begin) -> None:
    """NULL is not true. What the target does not take is counted."""
    replica = begin(EU)
    assert ids(replica) == [1]
    replica.at_source(
        "INSERT INTO t VALUES (5, 'EU', 101, 'new'), (6, 'EU', NULL, 'null'), (7, 'US', 500, 'not')",
        "UPDATE t SET amount = 150 WHERE id = 2",
        "UPDATE t SET note = 'stays out' WHERE id = 3",
        "UPDATE t SET region = 'EU' WHERE id = 4",
        "UPDATE t SET note = 'stays' WHERE id = 1",
    )
    told = settled(replica)
    assert told.discarded == {"public.t: its row does not meet the condition (restrict)": 3}
    assert ids(replica) == [1, 2, 4, 5]
    replica.at_source(
        "UPDATE t SET amount = NULL WHERE id = 1",
        "UPDATE t SET region = 'US' WHERE id = 2",
        "DELETE FROM t WHERE id IN (3, 4)",
        "UPDATE t SET amount = 100 WHERE id = 5",
    )
    settled(replica)
    assert ids(replica) == []
    replica.at_source("UPDATE t SET region = 'EU', amount = 999", "UPDATE t SET region = 'US' WHERE id = 1")
    settled(replica)
    assert ids(replica) == [2, 5, 6, 7]
    replica.at_source("TRUNCATE t", ROWS)
    settled(replica)
    assert ids(replica) == [1]


def test_values_that_an_update_leaves_alone_come_along(begin: Begin) -> None:
    """They lie outside the row (TOAST), and the log tells them with the old row only."""
    replica = begin(EU, statements=(TABLE, "ALTER TABLE t ALTER note SET STORAGE EXTERNAL", FULL, ROWS))
    replica.at_source(f"UPDATE t SET note = {LONG}")
    settled(replica)
    replica.at_source("UPDATE t SET amount = 101 WHERE id = 2", "UPDATE t SET amount = 300 WHERE id = 1")
    settled(replica)
    assert replica.rows("SELECT id, length(note) FROM t ORDER BY id") == [(1, 16000), (2, 16000)]
    replica.at_source("UPDATE t SET amount = 1 WHERE id = 2", "UPDATE t SET amount = 102 WHERE id = 2")
    settled(replica)


def test_keys_that_change_together_with_the_answer(begin: Begin) -> None:
    replica = begin(EU)
    replica.at_source(
        "UPDATE t SET id = 10, amount = 1000 WHERE id = 2",
        "UPDATE t SET id = 2, amount = 1 WHERE id = 1",
        "UPDATE t SET id = 1 WHERE id = 10",
        "UPDATE t SET id = 20, region = 'EU' WHERE id = 3",
        "UPDATE t SET id = 3, region = 'US' WHERE id = 20",
        "INSERT INTO t VALUES (21, 'EU', 200, 'a')",
        "UPDATE t SET id = 22 WHERE id = 21",
    )
    settled(replica)
    assert ids(replica) == [1, 22]


def test_a_table_without_a_key(begin: Begin) -> None:
    replica = begin(EU, statements=(TABLE.replace(" PRIMARY KEY", ""), ROWS, ROWS))
    assert ids(replica) == [1, 1]
    replica.at_source(
        "UPDATE t SET amount = 101 WHERE id = 2",
        "DELETE FROM t WHERE ctid = (SELECT min(ctid) FROM t WHERE id = 1)",
        "UPDATE t SET region = 'US' WHERE ctid = (SELECT min(ctid) FROM t WHERE id = 2)",
        "UPDATE t SET note = 'x'",
    )
    settled(replica)
    assert ids(replica) == [1, 2]


@pytest.mark.parametrize("granularity", ["-gb", "-gr"])
def test_a_refresh_reads_what_is_wanted_and_takes_away_what_is_not(begin: Begin, granularity: str) -> None:
    replica = begin(EU)
    replica.at_source("INSERT INTO t SELECT i, 'EU', i, 'x' FROM generate_series(10, 200) i")
    replica.replicate()
    replica.at_target(
        "DELETE FROM t WHERE id = 150",
        "UPDATE t SET note = 'other' WHERE id = 151",
        "INSERT INTO t VALUES (3, 'US', 300, 'far'), (999, 'EU', 500, 'nowhere')",
    )
    replica.refresh("public.t", options=granularity)
    replica.check_equal()
    check(replica)


def test_compare_finds_rows_that_are_not_wanted_and_repair_takes_them_away(begin: Begin) -> None:
    """A row of the source that the condition is not true for is too many at the target."""
    replica = begin(EU)
    replica.at_target("INSERT INTO t VALUES (3, 'US', 300, 'far'), (4, NULL, 400, 'no')", "DELETE FROM t WHERE id = 1")
    (found,) = replica.compare().tables
    assert (found.source_rows, found.target_rows, found.missing, found.extra) == (1, 2, 1, 2)
    with flow.open_channel(replica.file, InProcess()) as run:
        assert flow.repair(run).differences == 0
    check(replica)


def test_two_targets_have_different_rows(begin: Begin, databases: Any, past: str) -> None:
    """The first entry that holds for a table and a target decides; where none holds all rows are there."""
    places = [{"name": "warehouse", "location": databases.target}, {"name": "second", "location": past}]
    rich = {"targets": "second", "tables": "t", "condition": "amount >= 300"}
    whole = ("CREATE TABLE u (id int PRIMARY KEY)", "INSERT INTO u VALUES (1)")
    replica = begin(
        rich,
        {**EU, "targets": ["warehouse"]},
        "Table=t, Condition=id = 0",
        targets=places,
        statements=(TABLE, FULL, ROWS, *whole),
    )
    other = Replica(replica.source, past, replica.file)
    assert (ids(replica), ids(other), ids(replica, "u")) == ([1], [3, 4], [1])
    replica.at_source("UPDATE t SET amount = amount + 100", "UPDATE t SET region = 'EU' WHERE id = 4")
    settled(replica)
    check(other, "amount >= 300")
    assert (ids(replica), ids(other)) == ([1, 2, 4], [1, 3, 4])


def test_columns_that_the_target_has_not_or_calls_otherwise(begin: Begin) -> None:
    """The condition names the source's."""
    said = [{"columns": "region", "absent": True}, {"columns": "amount", "name": "region"}]
    replica = begin(EU, column_properties=said)
    columns = "id, note"
    check(replica, columns=columns)
    replica.at_source("UPDATE t SET region = 'EU'", "UPDATE t SET amount = 1 WHERE id = 1")
    settled(replica, columns=columns)
    assert ids(replica) == [3, 4]
    replica.refresh("public.t", options="-gr")
    check(replica, columns=columns)


def test_a_table_without_a_key_and_without_the_columns_that_decide(begin: Begin) -> None:
    plain = TABLE.replace(" PRIMARY KEY", "")
    said = [{"columns": "region|amount", "absent": True}]
    replica = begin(EU, column_properties=said, statements=(plain, ROWS, ROWS))
    replica.at_source("UPDATE t SET amount = 500 WHERE id = 2", "UPDATE t SET region = 'US' WHERE id = 1")
    settled(replica, columns="id, note")
    assert ids(replica) == [2, 2]


def test_partitions(begin: Begin) -> None:
    """A row may go from one partition to another, and into the condition or out of it with that."""
    statements = [
        "CREATE TABLE t (id int, region text, amount int, PRIMARY KEY (id, region)) PARTITION BY LIST (region)",
        "CREATE TABLE t_eu PARTITION OF t FOR VALUES IN ('EU')",
        "CREATE TABLE t_rest PARTITION OF t DEFAULT",
        *(f"ALTER TABLE {name} REPLICA IDENTITY FULL" for name in ("t_eu", "t_rest")),
        "INSERT INTO t VALUES (1, 'EU', 200), (2, 'EU', 50), (3, 'US', 300)",
    ]
    replica = begin({**EU, "tables": "t|t_*"}, statements=tuple(statements))
    replica.at_source(
        "UPDATE t SET region = 'EU' WHERE id = 3",
        "UPDATE t SET region = 'US' WHERE id = 1",
        "CREATE TABLE t_asia PARTITION OF t FOR VALUES IN ('JP')",
        "ALTER TABLE t_asia REPLICA IDENTITY FULL",
        "UPDATE t SET region = 'JP', amount = 900 WHERE id = 2",
        "INSERT INTO t VALUES (4, 'EU', 101)",
    )
    settled(replica)
    assert ids(replica) == [3, 4]
    replica.at_source("UPDATE t SET region = 'EU'")
    settled(replica)
    assert ids(replica) == [1, 2, 3, 4]


def test_many_rows_in_buckets(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several sections, too; and a key that changes has all of them in one task."""
    monkeypatch.setattr(InProcess, "parallelism", 3)
    monkeypatch.setattr("airflow_ddlrepl.engines.staging.ROWS_PER_BUCKET", 100)
    monkeypatch.setattr("airflow_ddlrepl.integrate.stage_task.ROWS_PER_SECTION", 400)
    replica = begin(EU)
    statements = (
        "INSERT INTO t SELECT i, CASE WHEN i % 2 = 0 THEN 'EU' END, i % 200, i::text FROM generate_series(10, 900) i",
        "UPDATE t SET amount = 200 - amount WHERE id >= 10",
        "UPDATE t SET region = CASE WHEN region IS NULL THEN 'EU' END WHERE id % 3 = 0",
        "DELETE FROM t WHERE id % 7 = 0",
    )
    for statement in statements:
        replica.at_source(statement)
        settled(replica)
    assert len(ids(replica)) > 100
    replica.at_source("UPDATE t SET id = -id, amount = 200 - amount WHERE id % 5 = 0", *statements[1:])
    settled(replica)
