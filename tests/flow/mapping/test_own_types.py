"""target_tables: columns of a target have data types of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import TargetError
from tests.support.replayable import HORIZON, captured, read
from tests.support.restricting import active, now

TABLE = (
    "CREATE TYPE mood AS ENUM ('sad', 'glad')",
    "CREATE TABLE t (id int PRIMARY KEY, code text DEFAULT '7', mood mood, is_on boolean,"
    " at timestamptz, n numeric(9,2), ip inet)",
    "INSERT INTO t SELECT i, '0' || i, 'glad', i % 2 = 0, '2026-03-01 12:00+00', i, '10.0.0.1'"
    " FROM generate_series(1, 5) i",
)
TYPES = {"id": "int8", "code": "int", "mood": "varchar(5)", "is_on": "text", "at": "date", "n": "numeric(5,1)"}
TYPES["ip"] = "text"
QUERY = "SELECT id, code, mood, is_on, at::text, n::text, address FROM t ORDER BY id"


def test_a_column_has_a_type_of_the_targets_own(databases: Any, tmp_path: Path, past: str) -> None:
    replica = active(
        databases,
        tmp_path,
        TABLE,
        target_tables=[{"tables": "t", "types": TYPES}],
        column_properties=[{"columns": "ip", "name": "address"}],
        replays=[{"name": "past", "location": past}],
        rewind_horizon=HORIZON,
    )
    found: list[tuple[Any, ...]] = [
        (i, i, "glad", "t" if i % 2 == 0 else "f", "2026-03-01", f"{i}.0", "10.0.0.1") for i in range(1, 6)
    ]
    assert replica.rows(QUERY) == found
    types = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0"
    names = ["bigint", "integer", "character varying(5)", "text", "date", "numeric(5,1)", "text"]
    assert [row[0] for row in replica.rows(types + " ORDER BY attnum")] == names
    replica.at_source(
        "UPDATE t SET code = '0012', is_on = true WHERE id = 1",
        "INSERT INTO t VALUES (6, '6', NULL, NULL, NULL, 1.25, NULL)",
        "UPDATE t SET id = 20 WHERE id = 2",
        "DELETE FROM t WHERE id = 3",
        "ALTER TYPE mood ADD VALUE 'calm'",
        "UPDATE t SET mood = 'calm' WHERE id = 4",
    )
    replica.settle()
    found = [
        (1, 12, "glad", "t", "2026-03-01", "1.0", "10.0.0.1"),
        (4, 4, "calm", "t", "2026-03-01", "4.0", "10.0.0.1"),
        (5, 5, "glad", "f", "2026-03-01", "5.0", "10.0.0.1"),
        (6, 6, None, None, None, "1.3", None),
        (20, 2, "glad", "t", "2026-03-01", "2.0", "10.0.0.1"),
    ]
    assert replica.rows(QUERY) == found
    before = captured(replica)
    # types of the source change, and its values with them; the target's types don't
    replica.at_source(
        "ALTER TABLE t ALTER n TYPE int, ALTER is_on TYPE int USING is_on::int",
        "ALTER TABLE t ALTER code TYPE varchar(9)",
        "INSERT INTO t VALUES (7, '7', 'sad', 1, '2026-04-01', 7, '10.0.0.2')",
    )
    replica.settle()
    assert replica.rows("SELECT n::text, is_on FROM t ORDER BY id") == [
        ("1.0", "1"), ("4.0", "1"), ("5.0", "0"), ("1.0", None), ("7.0", "1"), ("2.0", "1"),
    ]  # fmt: skip
    assert [row[0] for row in replica.rows(types + " ORDER BY attnum")] == names
    replica.rewind(before)
    assert read(past, QUERY) == found
    replica.at_target("DELETE FROM t WHERE id = 1", "UPDATE t SET code = 1")
    replica.refresh("public.t", options="-gr")
    replica.check_equal()
    replica.refresh("public.t")
    replica.check_equal()
    replica.rewind(before, into="warehouse")
    replica.settle()


def test_a_value_that_is_none_of_the_type_is_refused(databases: Any, tmp_path: Path) -> None:
    replica = active(databases, tmp_path, TABLE, target_tables=[{"tables": "t", "types": {"code": "int"}}])
    replica.at_source("INSERT INTO t VALUES (8, 'eight')")
    with pytest.raises(TargetError, match=r'TGT-120: .* invalid input syntax for type integer: "eight"'):
        replica.replicate()
    now(replica, target_tables=[{"tables": "t", "types": {"code": "varchar(4)"}}])
    with pytest.raises(TargetError, match=r"TGT-120: .* value too long"):
        replica.replicate()
    now(replica, target_tables=[{"tables": "t", "types": {"code": "varchar(5)"}}])
    replica.settle()
    now(replica, target_tables=[])
    replica.settle()
    now(replica, target_tables=[{"tables": "t", "types": {"nothing": "int"}}])
    with pytest.raises(TargetError, match=r"ADP-162: `types` .* names column nothing"):
        replica.replicate()
    now(replica, target_tables=[{"tables": "t", "types": {"id": "smallint"}}])
    with pytest.raises(TargetError, match=r"ADP-173: .* as a key it may only become wider"):
        replica.replicate()


def test_columns_of_its_own_type_that_come_later(databases: Any, tmp_path: Path) -> None:
    types = {"code": "int", "late": "bigint", "each": "numeric"}
    replica = active(databases, tmp_path, TABLE)
    replica.at_source("INSERT INTO t VALUES (8, '8')")
    now(replica, target_tables=[{"tables": "t", "types": {"code": "int"}}])
    replica.settle()
    replica.at_source("ALTER TABLE t ADD late text DEFAULT '42'", "INSERT INTO t VALUES (9, '9')")
    replica.at_source("ALTER TABLE t ADD each float8 DEFAULT random()", "UPDATE t SET late = '43' WHERE id = 1")
    replica.settle()
    now(replica, target_tables=[{"tables": "t", "types": types}])
    replica.settle()
    replica.at_source("ALTER TABLE t DROP late, DROP each")
    with pytest.raises(TargetError, match="ADP-162: `types`"):
        replica.replicate()
    now(replica, target_tables=[{"tables": "t", "types": {"code": "int"}}])
    replica.settle()
    now(replica, target_tables=[{"tables": "t", "types": types}])
    replica.at_source("ALTER TABLE t ADD late text DEFAULT '42', ADD each float8 DEFAULT random()")
    replica.settle()
    assert replica.rows("SELECT DISTINCT late FROM t") == [(42,)]


def test_a_history_and_deleted_rows_have_types_of_their_own(databases: Any, tmp_path: Path) -> None:
    extra = {"op": "{operation}", "pos": "{position}", "seq": "{sequence}"}
    history = {"tables": "t", "time_key": True, "extra": extra}
    replica = active(databases, tmp_path, TABLE, target_tables=[{**history, "types": {"code": "int"}}])
    replica.at_source("UPDATE t SET code = '011' WHERE id = 1", "DELETE FROM t WHERE id = 2")
    replica.settle()
    changes = "SELECT code, op FROM t WHERE op <> 'refresh' ORDER BY pos"
    assert replica.rows(changes) == [(11, "update"), (2, "delete")]
    now(replica, target_tables=[{**history, "types": {"code": "bigint", "n": "text"}}])
    replica.settle()
    assert replica.rows(changes) == [(11, "update"), (2, "delete"), (None, "truncate")]
    assert replica.rows("SELECT pg_typeof(code)::text, n FROM t WHERE op = 'update'") == [("bigint", "1.00")]
    now(replica, target_tables=[{"tables": "t", "soft_delete": "gone", "types": {"code": "int"}}])
    replica.replicate()
    replica.at_source("DELETE FROM t WHERE id = 3")
    replica.settle()
    now(replica, target_tables=[{"tables": "t", "soft_delete": "gone", "types": {"code": "bigint"}}])
    replica.settle()
    assert replica.rows("SELECT code, pg_typeof(code)::text FROM t WHERE gone") == [(3, "bigint")]


def test_texts_are_cut_to_a_type_of_the_targets_own(databases: Any, tmp_path: Path) -> None:
    entry = {"tables": "t", "types": {"code": "varchar(2)"}, "coerce_error_policy": "truncate"}
    replica = active(databases, tmp_path, TABLE, target_tables=[entry])
    replica.at_source("UPDATE t SET code = 'abc' WHERE id = 1", "INSERT INTO t VALUES (6, 'defg')")
    replica.settle()
    found = [("ab",), ("02",), ("03",), ("04",), ("05",), ("de",)]
    assert replica.rows("SELECT code FROM t ORDER BY id") == found
    for options in ("-gb", "-gr"):
        replica.refresh("public.t", options=options)
        replica.check_equal()
    assert replica.rows("SELECT code FROM t ORDER BY id") == found
