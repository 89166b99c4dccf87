"""Thousands of tables that change together: what is read of the trail does not grow with their number times itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.trail.store import Trail
from tests.conftest import Databases
from tests.support.replica import Make, Replica, channel_file


def reads_of(replica: Replica, count: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a cycle reads a manifest or a list of transactions when so many tables have rows and an ALTER."""
    reads: list[str] = []
    for name in ("find", "transactions"):
        original = getattr(Trail, name)

        def counted(*given: object, original: object = original, name: str = name) -> object:
            reads.append(name)
            return original(*given)  # type: ignore[operator]

        monkeypatch.setattr(Trail, name, counted)
    first = "INSERT INTO t{0} VALUES (1, 'a'); ALTER TABLE t{0} ADD COLUMN more int;"
    then = "INSERT INTO t{0} VALUES (2, 'b', 3);"
    replica.at_source("BEGIN;" + "".join((first + then).format(n) for n in range(count)) + "COMMIT")
    replica.settle()
    monkeypatch.undo()
    return len(reads)


def test_tables_that_change_after_one_load_read_the_trail_as_often_as_one_does(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = make(*(f"CREATE TABLE t{n} (id int PRIMARY KEY, note text)" for n in range(30)))
    many = reads_of(replica, 29, monkeypatch)
    assert many < 29, many
    assert replica.rows("SELECT * FROM t28 ORDER BY id") == [(1, "a", None), (2, "b", 3)]


def statements_of(replica: Replica, count: int, number: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many statements a cycle sends to the servers when so many tables have a row and an ALTER each."""
    sent: list[object] = []
    original = psycopg.Cursor.execute

    def counted(self: Any, query: Any, *given: Any, **more: Any) -> Any:
        sent.append(query)
        return original(self, query, *given, **more)

    changes = [
        f"INSERT INTO t{n} (id) VALUES ({number}); ALTER TABLE t{n} ADD COLUMN c{number} int" for n in range(count)
    ]
    replica.at_source(*changes)
    with monkeypatch.context() as counting:
        counting.setattr(psycopg.Cursor, "execute", counted)
        replica.replicate()
    replica.check_equal()
    return len(sent)


def test_a_table_with_a_row_and_an_alter_takes_two_statements(
    databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One merges its row, one alters it, where the target's role skips triggers."""
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(*(f"CREATE TABLE t{n} (id int PRIMARY KEY, note text)" for n in range(25)))
    replica.activate()
    replica.settle()
    few, many = (statements_of(replica, count, number, monkeypatch) for number, count in enumerate((5, 25)))
    assert many - few <= 2 * 20 + 5, (few, many)
