"""coerce_error_policy: null and discard, where a value of the source does not fit the target's column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import TargetError
from tests.support.replayable import HORIZON, captured, read
from tests.support.restricting import active, now

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
