"""target_tables: a target's table keeps deleted rows, and has columns that the source's table has not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import TargetError, Unsupported
from tests.support.replayable import HORIZON, captured, read
from tests.support.restricting import active, now

TABLE = "CREATE TABLE t (id int PRIMARY KEY, price numeric(9,2), amount int, note text NOT NULL)"
ROWS = "INSERT INTO t SELECT i, i, 2, 'row ' || i FROM generate_series(1, 6) i"
KEPT = {"tables": "t", "soft_delete": "is_deleted", "deleted_at": "deleted_at"}
FLAGS = "SELECT id, note, is_deleted, deleted_at IS NOT NULL FROM t ORDER BY id"


def test_deleted_rows_stay_with_a_flag(databases: Any, tmp_path: Path, past: str) -> None:
    replica = active(
        databases,
        tmp_path,
        (TABLE, ROWS),
        target_tables=[KEPT],
        replays=[{"name": "past", "location": past}],
        rewind_horizon=HORIZON,
    )
    replica.at_source(
        "UPDATE t SET note = 'last' WHERE id = 1",
        "DELETE FROM t WHERE id = 1",
        "DELETE FROM t WHERE id = 2",
        "INSERT INTO t VALUES (7, 7, 7, 'came'), (8, 8, 8, 'short')",
        "UPDATE t SET note = 'and went' WHERE id = 8",
        "DELETE FROM t WHERE id = 8",
        "DELETE FROM t WHERE id = 3",
        "INSERT INTO t VALUES (3, 3, 3, 'again')",
        "DELETE FROM t WHERE id = 4",
        "UPDATE t SET id = 4 WHERE id = 5",
    )
    replica.settle()
    found: list[tuple[Any, ...]] = [
        (1, "last", True, True),
        (2, "row 2", True, True),
        (3, "again", False, False),
        (4, "row 5", False, False),
    ]
    found += [(6, "row 6", False, False), (7, "came", False, False), (8, "and went", True, True)]
    assert replica.rows(FLAGS) == found
    replica.at_source(
        "INSERT INTO t VALUES (2, 2, 2, 'back')",
        "UPDATE t SET id = 1 WHERE id = 6",
        "ALTER TABLE t ADD z int NOT NULL DEFAULT 5, DROP amount",
        "ALTER TABLE t RENAME note TO remark",
        "ALTER TABLE t ALTER price TYPE numeric(12,3)",
        "INSERT INTO t VALUES (9, 9, 'new', 6)",
        "DELETE FROM t WHERE id = 3",
    )
    replica.settle()
    rows = "SELECT id, remark, z, is_deleted FROM t ORDER BY id"
    found = [(1, "row 6", 5, False), (2, "back", 5, False), (3, "again", 5, True), (4, "row 5", 5, False)]
    found += [(7, "came", 5, False), (8, "and went", 5, True), (9, "new", 6, False)]
    assert replica.rows(rows) == found
    for options in ("-gb", "-gr"):
        replica.refresh("public.t", options=options)
        replica.check_equal()
        assert replica.rows(rows) == found
    replica.at_source("DELETE FROM t WHERE id = 9")
    before = captured(replica)
    replica.at_source("TRUNCATE t", "INSERT INTO t VALUES (20, 20, 'after', 1)")
    replica.settle()
    after = "SELECT id, is_deleted, deleted_at IS NOT NULL FROM t WHERE NOT is_deleted OR id = 2 ORDER BY id"
    assert replica.rows(after) == [(2, True, True), (20, False, False)]
    replica.rewind(before)
    # what was deleted before the load that a rewind begins with is at the live target alone
    assert read(past, rows) == [*(row for row in found[:-1] if not row[3]), (9, "new", 6, True)]
    replica.at_target("DELETE FROM t WHERE id = 20")
    replica.rewind(before, into="warehouse")
    replica.settle()
    assert replica.rows(after) == [(2, True, True), (20, False, False)]
    assert replica.rows("SELECT count(*) FROM t WHERE is_deleted") == [(7,)]


def test_extra_columns_follow_the_row_and_the_change(databases: Any, tmp_path: Path, past: str) -> None:
    extra = {
        "total": "price * amount",
        "is_dear": "price > 3",
        "changed_at": "{commit_time}",
        "by": "{operation}",
        "day": "{commit_time}::date",
        "at_log": "{position}",
        "xid": "{transaction}",
        "n": "{sequence}",
        "origin": "'shop'",
    }
    replica = active(
        databases,
        tmp_path,
        (TABLE, ROWS),
        target_tables=[{"tables": "t", "extra": extra}],
        column_properties=[{"columns": "price", "name": "the price"}],
        replays=[{"name": "past", "location": past}],
        rewind_horizon=HORIZON,
    )
    loaded = [(i, i * 2, i > 3, "refresh", True, "shop", None) for i in range(1, 7)]
    query = "SELECT id, total, is_dear, by, day = changed_at::date, origin, xid FROM t ORDER BY id"
    assert replica.rows(query) == loaded
    replica.at_source("UPDATE t SET amount = 3 WHERE id = 1", "INSERT INTO t VALUES (7, 1, 1, 'new')")
    replica.at_source("ALTER TABLE t ADD z int DEFAULT 3", "ALTER TABLE t ALTER price TYPE numeric(12,3)")
    replica.settle()
    assert [row[:6] for row in replica.rows(query)] == [
        (1, 3, False, "update", True, "shop"),
        *(row[:6] for row in loaded[1:]),
        (7, 1, False, "insert", True, "shop"),
    ]
    times = "SELECT count(DISTINCT xid), count(*) FILTER (WHERE at_log > 0 AND changed_at <= now()) FROM t"
    assert replica.rows(times) == [(2, 7)]
    changed = "SELECT id, by, changed_at, at_log FROM t WHERE by <> 'refresh' ORDER BY id"
    noted = replica.rows(changed)
    replica.at_target("UPDATE t SET note = 'broken' WHERE id = 2")
    replica.refresh("public.t", options="-gr")
    replica.check_equal()
    assert replica.rows(changed) == noted  # only the row that differed was written
    replica.at_source("UPDATE t SET amount = 4 WHERE id = 2")
    before = captured(replica)
    noted = [row for row in replica.rows(changed) if row[0] == 2]
    changed = changed.replace("by <> 'refresh'", "id = 2")
    replica.rewind(before)
    assert read(past, changed) == noted
    replica.at_target("DELETE FROM t")
    replica.rewind(before, into="warehouse")
    replica.settle()
    assert (replica.rows(changed), len(replica.rows(query))) == (noted, 7)


@pytest.mark.req("HVR-P-98")
def test_every_change_is_a_row_and_a_dropped_column_keeps_their_values(
    databases: Any, tmp_path: Path, past: str
) -> None:
    extra = {"op": "{operation}", "pos": "{position}", "seq": "{sequence}", "xid": "{transaction}"}
    replica = active(
        databases,
        tmp_path,
        (TABLE, ROWS, "ALTER TABLE t ALTER note SET STORAGE EXTERNAL"),
        target_tables=[{"tables": "t", "time_key": True, "extra": {**extra, "at": "{commit_time}"}}],
        adapt_ddl=[{"add_table_pattern": "*"}],
        replays=[{"name": "past", "location": past}],
        rewind_horizon=HORIZON,
    )
    long = "repeat('long', 2000)"
    replica.at_source(
        f"UPDATE t SET note = {long} WHERE id = 1; UPDATE t SET amount = 7 WHERE id = 1; DELETE FROM t WHERE id = 1",
        "UPDATE t SET id = 20 WHERE id = 2",
        "INSERT INTO t VALUES (21, 1, 1, 'short'); DELETE FROM t WHERE id = 21",
    )
    replica.settle()
    history = "SELECT id, amount, length(note), op FROM t WHERE op <> 'refresh' ORDER BY pos, seq, op"
    found: list[tuple[Any, ...]] = [
        *((1, 2, 8000, "update"), (1, 7, 8000, "update"), (1, 7, 8000, "delete")),
        *((2, 2, 5, "delete"), (20, 2, 5, "update")),
        *((21, 1, 5, "insert"), (21, 1, 5, "delete")),
    ]
    assert replica.rows(history) == found
    assert replica.rows("SELECT count(*), count(xid), count(at) FROM t") == [(13, 7, 13)]
    replica.at_source(
        "ALTER TABLE t DROP amount, ADD z int DEFAULT 5",
        "ALTER TABLE t RENAME note TO remark",
        "INSERT INTO t VALUES (22, 22, 'new', 6)",
        "ALTER TABLE t ALTER id TYPE bigint",
        "DELETE FROM t WHERE id = 3",
    )
    replica.settle()
    later = history.replace("note", "remark")
    found += [(22, None, 3, "insert"), (3, None, 5, "delete")]
    assert replica.rows(later) == found  # the old rows have what they had
    before = captured(replica)
    replica.at_source("TRUNCATE t; INSERT INTO t VALUES (1, 1, 'after', 1)")
    replica.settle()
    found += [(None, None, None, "truncate"), (1, None, 5, "insert")]
    assert replica.rows(later) == found
    replica.rewind(before)
    gone = "SELECT DISTINCT ON (id) id, op FROM t ORDER BY id, pos DESC, seq DESC, op = 'delete'"
    wanted = [(1, "delete"), (2, "delete"), (3, "delete"), *((i, "refresh") for i in (4, 5, 6))]
    assert read(past, gone) == [*wanted, (20, "update"), (21, "delete"), (22, "insert")]
    replica.rewind(before, into="warehouse")
    assert replica.rows(later) == found  # what happened stays
    replica.at_source("INSERT INTO t VALUES (2, 2, 'next', 2)")
    replica.settle()
    for options in ("-gb", "-gr"):
        replica.refresh("public.t", options=options)
        replica.check_equal()
    found += [(2, None, 4, "insert"), *[(None, None, None, "truncate")] * 2]
    assert replica.rows(later) == found
    assert replica.rows("SELECT count(*) FROM t WHERE op = 'refresh'") == [(10,)]
    replica.at_target("DELETE FROM t WHERE op = 'refresh' AND id = 1")
    assert replica.compare().differences == 1


def test_the_file_lets_a_table_become_a_history_and_a_table_again(databases: Any, tmp_path: Path) -> None:
    replica = active(databases, tmp_path, (TABLE, ROWS), source={"replica_identity": "leave"})
    extra = {"op": "{operation}", "pos": "{position}", "seq": "{sequence}"}
    entry = {"tables": "t", "time_key": True, "extra": extra}
    now(replica, target_tables=[entry])
    with pytest.raises(Unsupported, match=r"ADP-154: `target_tables` has a row per change"):
        replica.replicate()
    replica.at_source("DELETE FROM t WHERE id = 6", "ALTER TABLE t REPLICA IDENTITY FULL", "DELETE FROM t WHERE id = 5")
    replica.settle()
    assert replica.rows("SELECT op, count(*) FROM t GROUP BY op ORDER BY op") == [("refresh", 4), ("truncate", 1)]
    replica.at_source("DELETE FROM t WHERE id = 4")
    replica.settle()
    assert replica.rows("SELECT id, note FROM t WHERE op = 'delete'") == [(4, "row 4")]
    replica.at_source("ALTER TABLE t REPLICA IDENTITY DEFAULT", "DELETE FROM t WHERE id = 3")
    with pytest.raises(TargetError, match=r"INT-112: .* without all of its old values"):
        replica.replicate()
    now(replica, target_tables=[])
    replica.replicate()
    replica.settle()
    assert replica.rows("SELECT * FROM t") == [(1, 1, 2, "row 1"), (2, 2, 2, "row 2")]
    replica.at_source("INSERT INTO t VALUES (3, 3, 3, 'next')", "DELETE FROM t WHERE id = 1")
    replica.settle()


def test_an_expression_follows_its_columns_by_the_file(databases: Any, tmp_path: Path) -> None:
    """The target stops before a column that an expression names gets another name, until the file has that."""
    entry = {"tables": "t", "extra": {"total": "price * amount"}}
    replica = active(databases, tmp_path, (TABLE, ROWS), target_tables=[entry])
    replica.at_source("INSERT INTO t VALUES (7, 7, 7, 'before')", "ALTER TABLE t RENAME amount TO pieces")
    replica.at_source("INSERT INTO t VALUES (8, 8, 8, 'after')")
    with pytest.raises(TargetError, match=r"(?s)ADP-162.*total by .price . amount.*no column amount"):
        replica.replicate()
    assert replica.rows("SELECT total FROM t WHERE id > 6") == [(49,)]
    now(replica, target_tables=[{**entry, "extra": {"total": "price * peices"}}])
    with pytest.raises(TargetError, match=r"ADP-162.*peices"):
        replica.replicate()
    now(replica, target_tables=[{**entry, "extra": {"total": "price * pieces", "half": "price - 1"}}])
    replica.settle()
    assert replica.rows("SELECT total, half FROM t WHERE id > 6 ORDER BY id") == [(49, 6), (64, 7)]
    now(replica, target_tables=[{"tables": "t", "soft_delete": "gone"}])
    replica.at_source("DELETE FROM t WHERE id = 8")
    replica.settle()
    assert replica.rows("SELECT id, gone FROM t WHERE id > 6 ORDER BY id") == [(7, False), (8, True)]
    now(replica, target_tables=[{"tables": "t", "soft_delete": "is_gone"}])
    replica.at_source("DROP TABLE t", TABLE, "INSERT INTO t VALUES (1, 1, 1, 'of another table')")
    replica.settle()
    assert replica.rows("SELECT id, is_gone FROM t") == [(1, False)]
    aside = replica.rows("SELECT oid::regclass::text FROM pg_class WHERE relname LIKE 't\\_%' AND relkind = 'r'")
    assert replica.rows(f"SELECT id, is_gone FROM {aside[0][0]} WHERE id > 6 ORDER BY id") == [(7, False), (8, True)]
    now(replica, target_tables=[])
    replica.at_source("DELETE FROM t")
    replica.settle()
    assert replica.rows("SELECT * FROM t") == []


def test_a_target_has_a_key_of_its_own(databases: Any, tmp_path: Path, past: str) -> None:
    table = "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL, b text NOT NULL, note text)"
    replica = active(
        databases,
        tmp_path,
        (table, "INSERT INTO t SELECT i, i % 3, 'b' || i, 'row ' || i FROM generate_series(1, 6) i"),
        target_tables=[{"tables": "t", "key": ["b", "a"]}],
        column_properties=[{"tables": "t", "columns": "id", "absent": True}, {"columns": "b", "name": "c"}],
        replays=[{"name": "past", "location": past}],
        rewind_horizon=HORIZON,
    )
    replica.at_source(
        "UPDATE t SET b = 'x' WHERE id = 1",
        "UPDATE t SET note = 'changed' WHERE id IN (1, 2)",
        "UPDATE t SET id = 30 WHERE id = 3",
        "DELETE FROM t WHERE id = 4",
        "INSERT INTO t VALUES (7, 1, 'b4', 'takes its key')",
        "ALTER TABLE t ADD z int DEFAULT 5, ALTER a TYPE bigint",
        "ALTER TABLE t RENAME note TO remark",
        "INSERT INTO t VALUES (8, 8, 'b8', 'eight', 8); UPDATE t SET a = 9 WHERE id = 8",
    )
    replica.settle()
    query = "SELECT c, a, remark, z FROM t ORDER BY c, a"
    found = [("b2", 2, "changed", 5), ("b3", 0, "row 3", 5), ("b4", 1, "takes its key", 5), ("b5", 2, "row 5", 5)]
    found += [("b6", 0, "row 6", 5), ("b8", 9, "eight", 8), ("x", 1, "changed", 5)]
    assert replica.rows(query) == found
    before = captured(replica)
    replica.rewind(before)
    assert read(past, query) == found
    replica.at_target("DELETE FROM t WHERE a = 0", "UPDATE t SET remark = 'other' WHERE a = 9")
    replica.refresh("public.t", options="-gr")
    replica.check_equal()
    # a row of the same key that is there for a moment only: the table waits, and says why
    replica.at_source("INSERT INTO t VALUES (10, 2, 'b2', 'same')", "DELETE FROM t WHERE id = 2")
    with pytest.raises(TargetError, match=r"INT-115: two rows of the source have one key by `target_tables`: b, a"):
        replica.replicate()
    replica.refresh("public.t")
    replica.settle()
    replica.at_source("INSERT INTO t VALUES (11, 2, 'b2', 'same again')")
    with pytest.raises(TargetError, match="INT-102"):
        replica.replicate()
    replica.at_source("DELETE FROM t WHERE id = 11")
    replica.refresh("public.t")
    replica.settle()
    replica.at_source("ALTER TABLE t RENAME b TO d")
    with pytest.raises(TargetError, match="ADP-162: `key` in `target_tables` names column b"):
        replica.replicate()
    now(replica, target_tables=[{"tables": "t", "key": ["d", "a"]}])
    replica.settle()
    now(replica, target_tables=[{"tables": "t", "key": "a"}])
    with pytest.raises(TargetError, match=r"TGT-120: .* Key .a.=.0. is duplicated"):
        replica.replicate()
    now(replica, target_tables=[], column_properties=[])
    replica.settle()
    assert replica.rows("SELECT count(DISTINCT id), count(DISTINCT d) FROM t") == [(7, 7)]
