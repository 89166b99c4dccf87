"""The shapes of tables that a synchronous capture notes: old ones that no captured row needs are deleted."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from tests.conftest import Databases
from tests.flow.streams.sync_capturing import Capturing, rule
from tests.support.replica import BOTH

SHAPES = "SELECT c.relname, count(*) FROM ddlrepl.captured_shapes s JOIN pg_class c ON c.oid = s.table_id GROUP BY 1"
ALL = "SELECT count(*) FROM ddlrepl.captured_shapes"


@pytest.fixture
def captures(databases: Databases, tmp_path: Path) -> Capturing:
    found = Capturing(databases.source, tmp_path, [rule(), rule("hr.u", "u")])
    found.at_source("CREATE SCHEMA hr", "CREATE TABLE hr.t (k int)", "CREATE TABLE hr.u (k int)")
    found.capture()
    return found


@BOTH
def test_a_window_leaves_the_newest_shape_of_each_table_that_is_there(captures: Capturing) -> None:
    captures.at_source(
        *(f"ALTER TABLE hr.t ADD c{number} int; INSERT INTO hr.t VALUES ({number})" for number in range(4)),
        "INSERT INTO hr.u VALUES (1)",
        "DROP TABLE hr.u",
    )
    assert captures.rows(ALL) == [(6,)]
    captures.capture()
    assert captures.rows(SHAPES) == [("t", 1)] and captures.rows(ALL) == [(1,)]
    captures.at_source("ALTER TABLE hr.t DROP c3", "INSERT INTO hr.t VALUES (4)")
    captures.capture()
    assert captures.rows(ALL) == [(1,)]
    assert [one.new.get("k") for one in captures.lcrs()] == ["0", "1", "2", "3", "1", "4"]
    assert [len(one.new) for one in captures.lcrs()] == [2, 3, 4, 5, 1, 4]


def test_an_open_transaction_that_has_captured_rows_keeps_all_shapes(captures: Capturing) -> None:
    captures.at_source("ALTER TABLE hr.t ADD c int; INSERT INTO hr.t VALUES (1)")
    with psycopg.connect(captures.source) as writer:
        writer.execute("INSERT INTO hr.u VALUES (1)")
        captures.capture()
        assert captures.rows(ALL) == [(3,)]
    captures.capture()
    assert captures.rows(ALL) == [(2,)]
    assert [one.name for one in captures.lcrs()] == ["t", "u"]


def test_a_transaction_with_an_older_snapshot_finds_no_shape_that_is_deleted(captures: Capturing) -> None:
    """It is a serialization failure, which such a transaction has to expect: the next try is captured."""
    with psycopg.connect(captures.source) as writer:
        writer.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        writer.execute("SELECT 1 FROM hr.u")
        captures.at_source("ALTER TABLE hr.t ADD c int; INSERT INTO hr.t VALUES (1)")
        captures.capture()
        assert captures.rows(ALL) == [(2,)]
        with pytest.raises(psycopg.errors.SerializationFailure):
            writer.execute("INSERT INTO hr.t VALUES (2)")
        writer.rollback()
        writer.execute("INSERT INTO hr.t VALUES (3)")
    captures.capture()
    assert [one.new["k"] for one in captures.lcrs()] == ["1", "3"]
