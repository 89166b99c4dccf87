"""Rewind: the tables as they were at an earlier position, with the columns that they had then, in another database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.model.work import InProcess
from tests.live.replica import Replica, channel_file

HORIZON = {"age": "7d"}
Rows = list[tuple[Any, ...]]


@pytest.fixture
def past(databases: Any) -> Iterator[str]:
    name = f"past_{databases.source.rpartition('/')[2]}"
    yield databases.server.create_database(name)
    databases.server.drop_database(name)


@pytest.fixture
def replica(databases: Any, past: str, tmp_path: Path) -> Replica:
    """Not activated yet."""
    replays = [{"name": "past", "location": past}]
    file = channel_file(tmp_path, databases.source, databases.target, rewind_horizon=HORIZON, replays=replays)
    return Replica(databases.source, databases.target, file)


def read(url: str, query: str) -> Rows:
    with psycopg.connect(url) as connection:
        return list(connection.execute(query))


def captured(replica: Replica) -> str:
    """Everything so far is captured; up to where."""
    replica.settle()
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return str(cycle.captured())


def test_back_to_before_a_column_was_dropped(replica: Replica, past: str) -> None:
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, a text, b int)", "INSERT INTO t VALUES (1, 'x', 10)")
    replica.activate()
    replica.at_source("INSERT INTO t VALUES (2, 'y', 20)", "UPDATE t SET b = 11 WHERE id = 1")
    before = captured(replica)
    replica.at_source("ALTER TABLE t DROP b", "ALTER TABLE t RENAME a TO aa", "INSERT INTO t VALUES (3, 'z')")
    between = captured(replica)
    replica.at_source("ALTER TABLE t ALTER aa TYPE varchar(5)", "DELETE FROM t WHERE id = 1", "CREATE TABLE u (x int)")
    now = captured(replica)

    replica.rewind(before)
    assert read(past, "SELECT id, a, b FROM t ORDER BY id") == [(1, "x", 11), (2, "y", 20)]
    replica.rewind(between)
    assert read(past, "SELECT * FROM t ORDER BY id") == [(1, "x"), (2, "y"), (3, "z")]
    assert read(past, "SELECT to_regclass('u')") == [(None,)]
    replica.rewind(now)
    assert read(past, "SELECT * FROM t ORDER BY id") == [(2, "y"), (3, "z")]
    assert read(past, "SELECT to_regclass('u')::text") == [("u",)]
    replica.check_equal()
