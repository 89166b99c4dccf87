"""Thousands of tables that change together: what is read of the trail does not grow with their number times itself."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.trail.store import Trail
from tests.support.replica import Make, Replica


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
