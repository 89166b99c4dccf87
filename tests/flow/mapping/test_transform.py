"""transform: a target has the values that a function gives, whatever becomes of the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica
from tests.support.restricting import EU, FULL, ROWS, TABLE, ids
from tests.support.transforming import AS_MASKED, MASKED, OURS, begun, check, settled

Begin = Callable[..., Replica]
LONG = "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 500) i)"
SPECIAL = r"E'a\tb\nc\rd\\e\\N', '\N', '\.', '', ' x ', 'ä€😀', '\\', 'NULL'"


@pytest.fixture
def begin(databases: Any, tmp_path: Path) -> Begin:
    return partial(begun, databases, tmp_path)


def test_rows_of_every_kind(begin: Begin) -> None:
    replica = begin(MASKED)
    check(replica)
    replica.at_source(
        "INSERT INTO t VALUES (5, 'EU', 101, 'fifth'), (6, NULL, NULL, NULL), (7, '', 0, '')",
        "UPDATE t SET note = 'other' WHERE id = 1",
        "UPDATE t SET amount = 7 WHERE id = 2",
        "UPDATE t SET id = 30 WHERE id = 3",
        "DELETE FROM t WHERE id = 4",
    )
    settled(replica)
    notes = [(1, "o*5"), (2, "c*5"), (5, "f*5"), (6, None), (7, "*0"), (30, "f*3")]
    assert replica.rows("SELECT id, note FROM t ORDER BY id") == notes
    replica.at_source("TRUNCATE t", "INSERT INTO t VALUES (1, 'x', 1, 'back')")
    settled(replica)


def test_values_that_an_update_leaves_alone_are_looked_at(begin: Begin) -> None:
    """They lie outside the row (TOAST), and what is given follows from them and from what has changed."""
    said = {**MASKED, "function": f"{OURS}:joined"}
    replica = begin(said, statements=(TABLE, "ALTER TABLE t ALTER note SET STORAGE EXTERNAL", FULL, ROWS))
    replica.at_source(f"UPDATE t SET note = {LONG}", "UPDATE t SET amount = 12.5 WHERE id = 2")
    settled(replica, "concat_ws('|', id, coalesce(region, '-'), amount, note)")
    assert replica.rows("SELECT left(note, 11), length(note) FROM t WHERE id = 2") == [("2|EU|12.50|", 16011)]


@pytest.mark.parametrize("function", ["masked", "joined"])
def test_a_table_without_a_key(begin: Begin, function: str) -> None:
    note = AS_MASKED if function == "masked" else "concat_ws('|', id, coalesce(region, '-'), amount, note)"
    said = {**MASKED, "function": f"{OURS}:{function}"}
    replica = begin(said, statements=(TABLE.replace(" PRIMARY KEY", ""), ROWS, ROWS))
    check(replica, note)
    replica.at_source(
        "UPDATE t SET note = 'cheaper' WHERE id = 2",
        "DELETE FROM t WHERE ctid = (SELECT min(ctid) FROM t WHERE id = 1)",
        "UPDATE t SET region = 'US' WHERE ctid = (SELECT min(ctid) FROM t WHERE id = 2)",
        "INSERT INTO t SELECT * FROM t WHERE id = 3",
    )
    settled(replica, note)


@pytest.mark.parametrize("granularity", ["-gb", "-gr"])
def test_a_refresh_gives_the_values_and_takes_away_others(begin: Begin, granularity: str) -> None:
    replica = begin(MASKED)
    replica.at_source("INSERT INTO t SELECT i, 'EU', i, 'row ' || i FROM generate_series(10, 200) i")
    replica.replicate()
    replica.at_target(
        "DELETE FROM t WHERE id = 150",
        "UPDATE t SET note = 'row 151' WHERE id = 151",
        "INSERT INTO t VALUES (999, 'EU', 500, 'nowhere')",
    )
    replica.refresh("public.t", options=granularity)
    replica.check_equal()
    check(replica)


def test_compare_knows_what_is_given_and_repair_writes_that(begin: Begin) -> None:
    """A value as the source has it is a difference."""
    replica = begin(MASKED)
    replica.at_target("UPDATE t SET note = 'far' WHERE id = 3", "DELETE FROM t WHERE id = 1")
    (found,) = replica.compare().tables
    assert (found.source_rows, found.target_rows, found.missing, found.extra, found.different) == (4, 3, 1, 0, 1)
    assert (str(found.table), [row.columns for row in found.rows]) == ("public.t", [(), ("note",)])
    with flow.open_channel(replica.file, InProcess()) as run:
        assert flow.repair(run).differences == 0
    check(replica)
    query = "SELECT count(*) FROM pg_class WHERE relnamespace = 'ddlrepl'::regnamespace AND relname ~ '^[rs]_'"
    assert replica.rows(query) == [(0,)]


def test_two_targets_have_different_values(begin: Begin, databases: Any, past: str) -> None:
    """The first entry that holds for a table and a target decides; where none holds all is as at the source."""
    places = [{"name": "warehouse", "location": databases.target}, {"name": "second", "location": past}]
    second = {"targets": "second", "tables": "t", "columns": "note", "function": f"{OURS}:masked_otherwise"}
    whole = ("CREATE TABLE u (id int PRIMARY KEY, note text)", "INSERT INTO u VALUES (1, 'as it is')")
    said = [second, {**MASKED, "targets": ["warehouse"]}, {**MASKED, "columns": ["region"]}]
    replica = begin(*said, targets=places, statements=(TABLE, FULL, ROWS, *whole))
    other = Replica(replica.source, past, replica.file)
    replica.at_source("UPDATE t SET note = note || ' again' WHERE id < 3", "UPDATE u SET note = 'still'")
    settled(replica)
    check(other, "upper(note)")
    assert replica.rows("SELECT note FROM u") == [("still",)]


def test_columns_that_the_target_has_not_or_calls_otherwise(begin: Begin) -> None:
    """The function sees the source's names, and columns that the target is not to have."""
    said = [{"columns": "region", "absent": True}, {"columns": "amount", "name": "region"}]
    replica = begin({**MASKED, "function": f"{OURS}:joined"}, column_properties=said)
    notes = "SELECT id, note FROM t ORDER BY id"
    assert replica.rows(notes)[0] == (1, "1|EU|200.00|in")
    replica.at_source("UPDATE t SET region = 'EU'", "UPDATE t SET amount = 1 WHERE id = 1")
    replica.settle()
    expected = [(1, "1|EU|1.00|in"), (2, "2|EU|50.00|cheap"), (3, "3|EU|300.00|far"), (4, "4|EU|400.00|no")]
    assert replica.rows(notes) == expected
    replica.at_target("DELETE FROM t WHERE id > 2")
    replica.refresh("public.t", options="-gr")
    replica.check_equal()
    assert replica.rows(notes) == expected


def test_columns_that_the_target_has_not_are_seen_in_old_rows_too(begin: Begin) -> None:
    """A history has the values that the function gives for a deleted row."""
    extra = {"op": "{operation}", "pos": "{position}", "seq": "{sequence}"}
    history = {"tables": "t", "time_key": True, "extra": extra}
    said = {"columns": "region", "absent": True}
    replica = begin({**MASKED, "function": f"{OURS}:joined"}, column_properties=[said], target_tables=[history])
    replica.at_source("UPDATE t SET amount = 1 WHERE id = 1", "DELETE FROM t WHERE id = 1")
    replica.settle()
    found = replica.rows("SELECT op, note FROM t WHERE id = 1 AND op <> 'refresh' ORDER BY op")
    assert found == [("delete", "1|EU|1.00|in"), ("update", "1|EU|1.00|in")]


def test_a_column_that_is_given_and_absent_is_nothing_to_do(begin: Begin) -> None:
    replica = begin(MASKED, column_properties=[{"columns": "note", "absent": True}])
    replica.at_source("UPDATE t SET note = 'x', amount = 9 WHERE id = 1")
    replica.settle()
    assert replica.rows("SELECT * FROM t WHERE id = 1") == [(1, "EU", 9)]


@pytest.mark.parametrize("has_key", [True, False])
def test_a_condition_is_about_the_values_of_the_source(begin: Begin, has_key: bool) -> None:
    """Row migration first, then the function: also where it gives the column that the condition names."""
    said = {"tables": "t", "columns": ["amount"], "function": f"{OURS}:doubled", "reads": "amount"}
    table = TABLE if has_key else TABLE.replace(" PRIMARY KEY", "")
    replica = begin(said, restrict=[EU], statements=(table, FULL, ROWS))
    rows = "SELECT id, amount::int FROM t ORDER BY id"
    assert replica.rows(rows) == [(1, 400)]
    replica.at_source(
        "UPDATE t SET amount = 150 WHERE id = 2",
        "UPDATE t SET amount = 60 WHERE id = 1",
        "UPDATE t SET region = 'EU' WHERE id = 4",
    )
    replica.settle()
    assert replica.rows(rows) == [(2, 300), (4, 800)]
    replica.refresh("public.t", options="-gr")
    assert replica.rows(rows) == [(2, 300), (4, 800)]


def test_partitions(begin: Begin) -> None:
    statements = [
        "CREATE TABLE t (id int, region text, amount int, note text, PRIMARY KEY (id, region))"
        " PARTITION BY LIST (region)",
        "CREATE TABLE t_eu PARTITION OF t FOR VALUES IN ('EU')",
        "CREATE TABLE t_rest PARTITION OF t DEFAULT",
        *(f"ALTER TABLE {name} REPLICA IDENTITY FULL" for name in ("t_eu", "t_rest")),
        "INSERT INTO t VALUES (1, 'EU', 200, 'one'), (2, 'EU', 50, 'two'), (3, 'US', 300, 'three')",
    ]
    replica = begin({**MASKED, "tables": "t|t_*"}, statements=tuple(statements))
    replica.at_source(
        "UPDATE t SET region = 'EU' WHERE id = 3",
        "CREATE TABLE t_asia PARTITION OF t FOR VALUES IN ('JP')",
        "ALTER TABLE t_asia REPLICA IDENTITY FULL",
        "UPDATE t SET region = 'JP', note = 'moved' WHERE id = 2",
        "INSERT INTO t VALUES (4, 'JP', 101, 'four')",
    )
    settled(replica)


def test_many_rows_in_buckets_and_chunks(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InProcess, "parallelism", 3)
    monkeypatch.setattr("airflow_ddlrepl.engines.staging.ROWS_PER_BUCKET", 100)
    monkeypatch.setattr("airflow_ddlrepl.integrate.stage_task.ROWS_PER_SECTION", 400)
    monkeypatch.setattr("airflow_ddlrepl.mapping.values.BATCH_ROWS", 70)
    monkeypatch.setattr("airflow_ddlrepl.engines.chunks.MINIMUM_BYTES", 2 * 8192)
    replica = begin(MASKED)
    statements = (
        "INSERT INTO t SELECT i, 'EU', i % 200, repeat('x', i % 90) FROM generate_series(10, 2900) i",
        "UPDATE t SET note = note || 'y' WHERE id % 3 = 0",
        "DELETE FROM t WHERE id % 7 = 0",
    )
    for statement in statements:
        replica.at_source(statement)
        settled(replica)
    assert len(ids(replica)) > 2000
    replica.refresh("public.t")
    check(replica)


def test_texts_that_copy_would_take_for_something_else(begin: Begin) -> None:
    said = {**MASKED, "function": f"{OURS}:same"}
    rows = f"INSERT INTO t SELECT -row_number() OVER (), x, NULL, x FROM unnest(ARRAY[{SPECIAL}, NULL]) x"
    replica = begin(said, statements=(TABLE, FULL, ROWS, rows))
    check(replica, "note")
    replica.at_source("UPDATE t SET id = id - 100")
    settled(replica, "note")
