"""coerce_error_policy: null and discard, where a value of the source does not fit the target's column."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli import commands
from airflow_ddlrepl.errors import DdlReplError, TargetError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replayable import HORIZON, captured, read
from tests.support.replica import Replica, channel_file
from tests.support.restricting import FULL, active, at_source, now
from tests.support.transforming import MASKED

TABLE = (
    "CREATE TABLE t (id int PRIMARY KEY, code text DEFAULT '7', n numeric, note text NOT NULL)",
    "INSERT INTO t VALUES (1, '1', 1, 'one'), (2, 'two', 2, 'two'), (3, '3', 12345, 'three')",
)
TYPES = {"code": "int", "n": "numeric(4,1)", "note": "varchar(5)"}
QUERY = "SELECT id, code, n::text, note FROM t ORDER BY id"


@pytest.mark.req("HVR-D-39")
def test_a_value_that_does_not_fit_becomes_null(databases: Any, tmp_path: Path, past: str) -> None:
    """By a load, by rows of the log, in a comparison and in a rewind alike."""
    entry = {"tables": "t", "types": TYPES, "coerce_error_policy": None}
    more: dict[str, Any] = {"replays": [{"name": "past", "location": past}], "rewind_horizon": HORIZON}
    replica = active(databases, tmp_path, TABLE, target_tables=[entry], **more)
    assert replica.rows(QUERY) == [(1, 1, "1.0", "one"), (2, None, "2.0", "two"), (3, 3, None, "three")]
    replica.at_source(
        "UPDATE t SET code = 'none', n = 1.25 WHERE id = 1",
        "UPDATE t SET code = '0022' WHERE id = 2",
        "UPDATE t SET note = 'drei' WHERE id = 3",
        "INSERT INTO t VALUES (4, '99999999999', -1000, 'four')",
    )
    told = replica.settle().discarded
    found: list[Any] = [(1, None, "1.3", "one"), (2, 22, "2.0", "two"), (3, 3, None, "drei"), (4, None, None, "four")]
    assert replica.rows(QUERY) == found
    assert told == {
        "public.t: values of column code do not fit integer and are NULL (coerce_error_policy)": 2,
        "public.t: values of column n do not fit numeric(4,1) and are NULL (coerce_error_policy)": 2,
    }
    before = captured(replica)
    replica.at_source("ALTER TABLE t ALTER code TYPE varchar(20)", "UPDATE t SET code = 'x' WHERE id = 2")
    replica.settle()
    replica.at_target("UPDATE t SET code = 5, n = 5")
    replica.refresh("public.t", options="-gr")
    replica.check_equal()
    replica.rewind(before)
    assert read(past, QUERY) == found
    replica.rewind(before, into="warehouse")
    replica.settle()
    replica.at_source("UPDATE t SET note = 'too long' WHERE id = 3")
    with pytest.raises(TargetError, match=r"INT-133: 1 values of column note do not fit character varying\(5\)"):
        replica.replicate()
    now(replica, target_tables=[{**entry, "coerce_error_policy": "truncate", "types": {"note": "varchar(5)"}}])
    replica.settle()
    found = [(1, "none", "1.25", "one"), (2, "x", "2", "two"), (3, "3", "12345", "too l")]
    assert replica.rows(QUERY) == [*found, (4, "99999999999", "-1000", "four")]


def test_a_table_that_follows_again_is_loaded_with_the_values_that_fit_now(databases: Any, tmp_path: Path) -> None:
    """Of a table without a key, and with rows that the log changes by their old values."""
    entry = {"tables": "t", "coerce_error_policy": "null"}
    statements = ("CREATE TABLE t (v varchar(5), w int)", "INSERT INTO t VALUES ('one', 1)")
    replica = active(databases, tmp_path, statements, defaults="hvr", adapt_ddl=[], target_tables=[entry])
    replica.at_source(
        "ALTER TABLE t ALTER v TYPE varchar(12)",
        "INSERT INTO t VALUES ('ten letter', 2), ('ten more', 3)",
        "UPDATE t SET w = 4 WHERE w = 3",
        "DELETE FROM t WHERE w = 2",
    )
    replica.replicate()
    assert replica.rows("SELECT * FROM t ORDER BY w") == [("one", 1), (None, 4)]
    now(replica, adapt_ddl=[{"table": "*"}])
    replica.at_source("ALTER TABLE t ALTER v TYPE varchar(20)", "INSERT INTO t VALUES ('a', 5)")
    told = replica.settle().adapt.refreshes["public.t"]
    assert "values that did not fit before may do so now (coerce_error_policy): v" in told
    assert replica.rows("SELECT * FROM t ORDER BY w") == [("one", 1), ("ten more", 4), ("a", 5)]


def waiting(replica: Replica) -> list[tuple[Any, ...]]:
    """The discarded rows: their keys, values of `code`, and whether the reason names the column."""
    query = "SELECT key[1]::int, row ->> 'code', reason FROM ddlrepl.discarded_rows ORDER BY 1"
    return replica.rows(query)


NO_NUMBER = 'code: invalid input syntax for type integer: "{}"'


@pytest.mark.req("HVR-D-39")
def test_a_row_that_does_not_fit_waits_in_the_queue(databases: Any, tmp_path: Path, past: str) -> None:
    entry = {"tables": "t", "types": {"code": "int"}, "coerce_error_policy": "discard"}
    more: dict[str, Any] = {"replays": [{"name": "past", "location": past}], "rewind_horizon": HORIZON}
    replica = active(databases, tmp_path, TABLE, target_tables=[entry], **more)
    assert replica.rows("SELECT id, code FROM t ORDER BY id") == [(1, 1), (3, 3)]
    assert waiting(replica) == [(2, "two", NO_NUMBER.format("two"))]
    replica.at_source(
        "INSERT INTO t VALUES (4, 'four', 4, 'four'), (5, 'five', 5, 'five'), (6, '6', 6, 'six'), (7, '7', 7, 'seven')",
        "UPDATE t SET code = '22' WHERE id = 2",  # it comes
        "UPDATE t SET code = 'one' WHERE id = 1",  # it goes
        "UPDATE t SET note = 'drei' WHERE id = 3",
        "DELETE FROM t WHERE id = 5",
        "UPDATE t SET id = 40 WHERE id = 4",
        "UPDATE t SET id = 60, code = 'six' WHERE id = 6",
        "UPDATE t SET code = 'x' WHERE id = 7",
        "DELETE FROM t WHERE id = 7",
    )
    told = replica.settle().discarded
    assert told == {"public.t: rows do not fit the target's columns and are discarded (coerce_error_policy)": 3}
    found = [(2, 22, "two"), (3, 3, "drei")]
    query = "SELECT id, code, note FROM t ORDER BY id"
    assert replica.rows(query) == found
    queue = [(i, code, NO_NUMBER.format(code)) for i, code in ((1, "one"), (40, "four"), (60, "six"))]
    assert waiting(replica) == queue
    compared = replica.compare()
    assert (compared.differences, compared.discarded, compared.is_equal) == (0, 3, False)
    assert "public.t: 3 rows of the source do not fit and are discarded" in compared.text()
    with flow.open_channel(replica.file, InProcess()) as run:
        assert "    3 rows are discarded: ddlrepl errors" in flow.status(run).text().splitlines()
        assert [(row["code"], row["table"]) for row in flow.discarded_rows(run)] == [("INT-134", "public.t")] * 3
        assert "3 discarded rows when last compared" in str(flow.check_cut_over(run).conditions)
    before = captured(replica)
    replica.at_source(
        "UPDATE t SET id = 41 WHERE id = 40",
        "UPDATE t SET note = 'later' WHERE id = 1",
        "DELETE FROM t WHERE id = 60",
        "ALTER TABLE t ALTER code TYPE varchar(20)",
        "UPDATE t SET code = '41' WHERE id = 41",
        "INSERT INTO t VALUES (8, 'eight', 8, 'eight')",
    )
    replica.settle()
    assert waiting(replica) == [(1, "one", NO_NUMBER.format("one")), (8, "eight", NO_NUMBER.format("eight"))]
    assert replica.rows("SELECT row ->> 'note' FROM ddlrepl.discarded_rows WHERE key = '{1}'") == [("later",)]
    replica.at_target("UPDATE t SET code = 5", "DELETE FROM ddlrepl.discarded_rows")
    (told_of_load,) = replica.refresh("public.t", options="-gr").warnings
    assert told_of_load == "public.t: 2 rows do not fit the target's columns and are discarded (coerce_error_policy)"
    replica.check_equal()
    assert [row[0] for row in waiting(replica)] == [1, 8]
    replica.rewind(before)
    assert read(past, query) == found
    assert read(past, "SELECT key[1]::int FROM ddlrepl.discarded_rows ORDER BY 1") == [(1,), (40,), (60,)]
    replica.rewind(before, into="warehouse")
    replica.settle()
    assert [row[0] for row in waiting(replica)] == [1, 8]
    now(replica, target_tables=[{**entry, "coerce_error_policy": "null"}])
    replica.settle()
    assert waiting(replica) == [] and replica.rows("SELECT id FROM t WHERE code IS NULL ORDER BY 1") == [(1,), (8,)]
    now(replica, target_tables=[entry])
    replica.settle()
    assert [row[0] for row in waiting(replica)] == [1, 8]
    replica.at_source("TRUNCATE t", "INSERT INTO t VALUES (9, 'nine', 9, 'nine')")
    replica.settle()
    assert [row[0] for row in waiting(replica)] == [9]
    replica.at_source("DROP TABLE t")
    replica.settle()
    assert waiting(replica) == []


def test_a_key_that_does_not_fit_and_rows_that_a_condition_chooses(databases: Any, tmp_path: Path) -> None:
    """The target does not follow a wider key; when it does again the table is loaded, and the queue is empty."""
    replica = active(
        databases,
        tmp_path,
        ("CREATE TABLE t (id int PRIMARY KEY, v varchar(5), w int)", "INSERT INTO t VALUES (1, 'one', 1)"),
        defaults="hvr",
        adapt_ddl=[],
        target_tables=[{"tables": "t", "coerce_error_policy": "discard"}],
        restrict=[{"tables": "t", "condition": "w < 10"}],
    )
    queue = "SELECT key, reason FROM ddlrepl.discarded_rows ORDER BY key[1]::bigint"
    replica.at_source(
        "ALTER TABLE t ALTER id TYPE bigint, ALTER v TYPE text",
        "INSERT INTO t VALUES (2, 'longer than 5', 2), (3, 'longer than 5', 30), (3000000000, 'big', 3), (4, NULL, 4)",
        "UPDATE t SET w = 5 WHERE id = 3000000000",
        "UPDATE t SET w = 6 WHERE id = 3",
        "UPDATE t SET w = 50 WHERE id = 2",
    )
    replica.replicate()
    reasons = [
        "v: value too long for type character varying(5)",
        'id: value "3000000000" is out of range for type integer',
    ]
    assert replica.rows(queue) == [(["3"], reasons[0]), (["3000000000"], reasons[1])]
    assert replica.rows("SELECT * FROM t ORDER BY id") == [(1, "one", 1), (4, None, 4)]
    report = replica.compare()
    assert (report.discarded, {table.different + table.missing + table.extra for table in report.tables}) == (2, {0})
    replica.refresh("public.t")
    assert replica.rows(queue) == [(["3"], reasons[0]), (["3000000000"], reasons[1])]
    now(replica, adapt_ddl=[{"table": "*"}])
    replica.at_source("ALTER TABLE t ALTER id TYPE numeric", "UPDATE t SET v = 'new' WHERE id = 3000000000")
    replica.settle()
    assert replica.rows(queue) == [] and replica.compare().is_equal


def test_a_row_waits_with_the_values_that_only_the_source_computes(databases: Any, tmp_path: Path) -> None:
    """The target stores a generated column whose expression it does not run."""
    table = (
        "CREATE FUNCTION half(n int) RETURNS numeric IMMUTABLE RETURN n / 2.0",
        "CREATE TABLE t (id int PRIMARY KEY, code text, n int, h numeric GENERATED ALWAYS AS (half(n)) STORED)",
    )
    entry = {"tables": "t", "types": {"code": "int"}, "coerce_error_policy": "discard"}
    replica = active(databases, tmp_path, table, target_tables=[entry])
    replica.at_source("INSERT INTO t VALUES (1, 'one', 3), (2, '2', 4)")
    replica.settle()
    assert replica.rows("SELECT id, code, h FROM t") == [(2, 2, 2)]
    found = replica.rows("SELECT key, row ->> 'code', (row ->> 'h')::float FROM ddlrepl.discarded_rows")
    assert found == [(["1"], "one", 1.5)]


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ("CREATE TABLE t (id int, v text)", "ADP-163"),
        ("CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)", "ADP-160"),
    ],
)
def test_tables_whose_rows_can_not_be_discarded(databases: Any, tmp_path: Path, table: str, code: str) -> None:
    entry = {"tables": "t", "coerce_error_policy": "discard"}
    file = channel_file(tmp_path, databases.source, databases.target, target_tables=[entry])
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(table)
    with pytest.raises(DdlReplError, match=code):
        replica.activate()


@pytest.mark.parametrize("policy", ["null", "discard"])
def test_a_suspended_table_goes_on_with_another_policy(databases: Any, tmp_path: Path, policy: str) -> None:
    """The values that a function gives may not fit either: of a text of ten letters it gives four."""
    entry, long = {"tables": "t", "types": {"note": "varchar(3)"}}, "more letters"
    replica = active(
        databases,
        tmp_path,
        ("CREATE TABLE t (id int PRIMARY KEY, note text)", "INSERT INTO t VALUES (1, 'a')", FULL),
        target_tables=[entry],
        transform=[MASKED],
    )
    replica.at_source(f"INSERT INTO t VALUES (2, '{long}'), (3, 'b')", f"UPDATE t SET note = '{long}' WHERE id = 1")
    with pytest.raises(TargetError, match=r"INT-123: table public\.t is suspended"):
        replica.replicate()
    now(replica, target_tables=[{**entry, "coerce_error_policy": policy}])
    replica.settle()
    replica.at_source("UPDATE t SET note = 'cc' WHERE id = 2", f"UPDATE t SET note = '{long}' WHERE id = 3")
    replica.settle()
    missing = [(1, None), (2, "c*2"), (3, None)]
    there = [row for row in missing if policy == "null" or row[1]]
    assert replica.rows("SELECT id, note FROM t ORDER BY id") == there
    listed = commands.errors(replica.file).to_json()
    rows = [row["message"] for row in listed if row["code"] == "INT-134"]
    assert len(rows) == len(missing) - len(there)
    assert all("value too long for type character varying(3)" in row and '"note": "m*12"' in row for row in rows)


FITS = "(code IS NULL OR code ~ '^ *[0-9]{1,9} *$') AND (n IS NULL OR abs(n) < 999)"
CODES, NUMBERS = ("'1'", "'bad'", "NULL", "'99999999999'", "' 7 '"), ("1", "2.55", "99999", "NULL")


def random_statement(draw: random.Random) -> str:
    """A change of one row, or of all; each key may be used again."""
    at, code, number = draw.randint(1, 12), draw.choice(CODES), draw.choice(NUMBERS)
    insert = f"INSERT INTO t VALUES ({at}, {code}, {number}, 'new') ON CONFLICT (id) DO UPDATE SET code = excluded.code"
    change = f"UPDATE t SET code = {code}, n = {number} WHERE id = {at}"
    move = f"UPDATE t SET id = {draw.randint(100, 10**9)} WHERE id = {at}"
    back = "UPDATE t SET id = 1 WHERE id = (SELECT max(id) FROM t) AND NOT EXISTS (SELECT FROM t WHERE id = 1)"
    many = [insert] * 6 + [change] * 6 + [move] * 2 + [back] * 2 + [f"DELETE FROM t WHERE id = {at}"] * 3
    return draw.choice([*many, "TRUNCATE t"])


def test_random_changes_leave_each_row_in_the_table_or_in_the_queue(databases: Any, tmp_path: Path) -> None:
    draw = random.Random(7)
    entry = {"tables": "t", "types": {"code": "int", "n": "numeric(4,1)"}, "coerce_error_policy": "discard"}
    replica = active(databases, tmp_path, TABLE, target_tables=[entry])
    for _ in range(6):
        replica.at_source(*(random_statement(draw) for _ in range(25)))
        replica.settle()
        whole = "SELECT id, code, n::text, note FROM t WHERE NOT ({}) ORDER BY id"
        queue = "SELECT (row ->> 'id')::int, row ->> 'code', row ->> 'n', row ->> 'note' FROM ddlrepl.discarded_rows"
        assert replica.rows(f"{queue} ORDER BY 1") == at_source(replica, whole.format(FITS))
        ids = "SELECT id FROM t WHERE {} ORDER BY id"
        assert replica.rows(ids.format("true")) == at_source(replica, ids.format(FITS))
