"""Many tables in many schemas are activated with few statements for each, and the log tells how far it is."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from psycopg import Cursor

from airflow_ddlrepl.ports import progress
from tests.support.replica import Replica, channel_file


def test_progress_counts_tables(
    databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    for n in range(3):
        replica.at_source(f"CREATE SCHEMA s{n}", *(f"CREATE TABLE s{n}.t{t} (id int PRIMARY KEY)" for t in range(2)))
        replica.at_source(*(f"INSERT INTO s{n}.t{t} VALUES (1)" for t in range(2)))  # else it is not loaded
    with caplog.at_level(logging.INFO, "ddlrepl"):
        replica.activate()
    said = [record.getMessage() for record in caplog.records]
    assert "5 of 6 tables are set up at the source" in said
    assert "5 of 6 tables have a place to be loaded into at target warehouse" in said
    assert "5 of 6 loaded tables are in place at target warehouse" in said
    replica.check_equal()


def test_progress_is_not_told_of_what_is_fast(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "ddlrepl"):
        assert list(progress.each([1, 2, 3], "done")) == [1, 2, 3]
        assert not caplog.records
        assert list(progress.each([1, 2], "done", seconds=0)) == [1, 2]
    assert [record.getMessage() for record in caplog.records] == ["0 of 2 done", "1 of 2 done"]


def test_each_table_takes_few_statements(databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(*(f"CREATE TABLE t{n} (id int PRIMARY KEY, note text)" for n in range(40)))
    replica.at_source(*(f"INSERT INTO t{n} VALUES (1)" for n in range(40)))  # else none is loaded
    statements: list[object] = []
    execute = Cursor.execute

    def counted(self: Any, query: Any, *more: Any, **options: Any) -> Any:
        statements.append(query)
        return execute(self, query, *more, **options)

    monkeypatch.setattr(Cursor, "execute", counted)
    replica.activate()
    assert len(statements) < 45 * 40, len(statements)
