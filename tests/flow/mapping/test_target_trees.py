"""target_tables for a partitioned table: it and its partitions have the columns that only the target has."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl.errors import TargetError, Unsupported
from tests.support.replayable import HORIZON, captured, read
from tests.support.restricting import active, now

TREE = (
    "CREATE TABLE t (id int, day date, n int NOT NULL, note varchar, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
    "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
    "CREATE TABLE t2 PARTITION OF t FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')",
    "INSERT INTO t SELECT i, '2026-01-15'::date + 31 * (i % 2), i, 'row ' || i FROM generate_series(1, 6) i",
)
ENTRY = {
    "tables": "t*",
    "soft_delete": "gone",
    "deleted_at": "gone_at",
    "extra": {"double": "n + n", "by": "{operation}", "at": "{commit_time}"},
}
ROWS = "SELECT id, note, double, by, gone, gone_at IS NOT NULL FROM t ORDER BY id, day"


def test_deleted_rows_and_extra_columns_of_partitions(databases: Any, tmp_path: Any, past: str) -> None:
    """Rows go and move; partitions come, are emptied, detached and attached; rewinds and refreshes retain all."""
    replica = active(
        databases,
        tmp_path,
        TREE,
        target_tables=[ENTRY],
        replays=[{"name": "past", "location": past}],
        rewind_horizon=HORIZON,
        adapt_ddl=[{"add_table_pattern": "t*"}],
    )
    replica.at_source(
        "DELETE FROM t WHERE id = 1",
        "UPDATE t SET n = 20 WHERE id = 2",
        "UPDATE t SET day = '2026-02-20' WHERE id = 4",
        "CREATE TABLE t3 PARTITION OF t FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')",
        "INSERT INTO t VALUES (7, '2026-03-07', 7, 'new'), (8, '2026-03-08', 8, 'short')",
        "DELETE FROM t WHERE id = 8",
        "ALTER TABLE t ADD z int DEFAULT 3",
        "ALTER TABLE t ALTER n TYPE bigint",
    )
    replica.settle()
    found: list[tuple[Any, ...]] = [
        (1, "row 1", 2, "delete", True, True),
        (2, "row 2", 40, "update", False, False),
        (3, "row 3", 6, "refresh", False, False),
        (4, "row 4", 8, "delete", True, True),
        (4, "row 4", 8, "insert", False, False),
        (5, "row 5", 10, "refresh", False, False),
        (6, "row 6", 12, "refresh", False, False),
        (7, "new", 14, "insert", False, False),
        (8, "short", 16, "delete", True, True),
    ]
    assert replica.rows(ROWS) == found
    kept = "SELECT id, note, double, gone FROM t ORDER BY id, day"
    for options in ("-gb", "-gr"):
        replica.refresh("public.t", options=options)
        replica.check_equal()
        assert replica.rows(kept) == [(row[0], row[1], row[2], row[4]) for row in found]
    before = captured(replica)
    replica.at_source(
        "TRUNCATE t2",
        "ALTER TABLE t DETACH PARTITION t3",
        "DELETE FROM t3 WHERE id = 7",
        "ALTER TABLE t ATTACH PARTITION t3 FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')",
        "DROP TABLE t1",
    )
    replica.settle()
    assert replica.rows("SELECT id, gone FROM t ORDER BY id, day") == [
        *((1, True), (3, True), (4, True), (5, True), (7, True), (8, True)),
    ]
    assert replica.rows("SELECT id, gone FROM t1 ORDER BY id") == [(2, False), (4, True), (6, False)]
    replica.rewind(before)
    assert read(past, "SELECT id, gone FROM t WHERE NOT gone ORDER BY id") == [(i, False) for i in range(2, 8)]


def test_the_file_gives_a_tree_columns_and_takes_them(databases: Any, tmp_path: Any) -> None:
    replica = active(databases, tmp_path, TREE)
    now(replica, target_tables=[ENTRY])
    replica.at_source("DELETE FROM t WHERE id = 1", "ALTER TABLE t ALTER n DROP NOT NULL")
    replica.settle()
    assert replica.rows("SELECT id FROM t WHERE gone") == [(1,)]
    now(replica, target_tables=[{"tables": "t*", "types": {"n": "text"}, "extra": {"more": "id + 1"}}])
    replica.at_source("INSERT INTO t VALUES (7, '2026-01-07', 7, 'new')")
    replica.replicate()
    replica.settle()
    assert replica.rows("SELECT id, n, more FROM t WHERE id IN (1, 7)") == [(7, "7", 8)]
    now(replica, target_tables=[])
    replica.replicate()
    replica.settle()
    assert replica.rows("SELECT * FROM t WHERE id = 7") == replica.rows("SELECT id, day, 7, note FROM t WHERE id = 7")


def test_a_partition_has_the_settings_of_its_table(databases: Any, tmp_path: Any) -> None:
    for tables, statements in (("t", TREE), ("t1", ("SELECT",))):
        with pytest.raises(Unsupported, match="ADP-145: by target_tables the partition"):
            active(databases, tmp_path, statements, target_tables=[{**ENTRY, "tables": tables}])
    replica = active(databases, tmp_path, ("SELECT",), target_tables=[ENTRY])
    now(replica, target_tables=[{**ENTRY, "tables": "t*", "extra": {"bounds": "day"}, "types": {"day": "text"}}])
    with pytest.raises(TargetError, match="ADP-173"):
        replica.replicate()
