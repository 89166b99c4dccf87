"""Many changes of one table are staged by several tasks, each those of its own keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.run.results import Replicated
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica, channel_file
from tests.support.restricting import at_source

ROWS = "SELECT * FROM t ORDER BY id, part"


class Workers(InProcess):
    """Four workers, which note the parts of the keys that they have staged."""

    parallelism = 4

    def __init__(self) -> None:
        self.staged: list[list[tuple[int, int]]] = []

    def map(self, task: Callable[[Any], Any], items: Sequence[Any], label: str, size: int | None = None) -> list[Any]:
        if label.startswith("integrate into"):
            self.staged.append([(one.bucket, one.buckets) for item in items for one in item])
        return super().map(task, items, label, size)


def test_one_table_is_staged_by_all_workers(databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a key of two columns; where a key changes, too, which is one task's work then."""
    monkeypatch.setattr("airflow_ddlrepl.engines.staging.ROWS_PER_BUCKET", 100)
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(
        "CREATE TABLE t (id bigint, part text, n numeric, PRIMARY KEY (id, part))",
        "INSERT INTO t SELECT i, 'part ' || i % 3, i FROM generate_series(1, 300) i",
    )
    replica.begin()

    def staged(*statements: str) -> list[list[tuple[int, int]]]:
        replica.at_source(*statements)
        workers = Workers()
        with flow.open_channel(replica.file, workers) as run:
            flow.replicate(run)
        assert replica.rows(ROWS) == at_source(replica, ROWS)
        return workers.staged

    changed = (
        "INSERT INTO t SELECT i, 'part ' || i % 3, i FROM generate_series(301, 500) i",
        "UPDATE t SET n = -n WHERE id % 2 = 0",
        "DELETE FROM t WHERE id % 5 = 0",
    )
    assert staged(*changed) == [[(0, 4), (1, 4), (2, 4), (3, 4)]]
    staged("UPDATE t SET n = n + 1 WHERE id <= 300", "UPDATE t SET id = -id WHERE id % 3 = 0")


def test_what_happens_to_a_row_is_netted_over_more_rows_than_the_workers_hold(
    databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come in more tasks then, up to twice as many as run at once."""
    monkeypatch.setattr("airflow_ddlrepl.engines.staging.ROWS_PER_BUCKET", 100)
    monkeypatch.setattr("airflow_ddlrepl.integrate.stage_task.ROWS_PER_SECTION", 100)
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source("CREATE TABLE t (id bigint PRIMARY KEY, part text)")
    replica.begin()
    workers = Workers()
    statements = ("INSERT INTO t SELECT i, '' FROM generate_series(1, 400) i", *["UPDATE t SET part = part || 'x'"] * 2)
    with flow.open_channel(replica.file, workers) as run:
        for statement in statements:
            replica.at_source(statement)
            flow.capture(run)
        done = cast(Replicated, flow.replicate(run))
    assert replica.rows(ROWS) == at_source(replica, ROWS)
    assert sorted(workers.staged[0]) == sorted((number, of) for of in (4, 8) for number in range(of))
    merged = {"changes": 1200, "inserted": 400, "updated": 400}
    assert done.integrate.rows == merged, "the last 400 changes are merged by themselves"
