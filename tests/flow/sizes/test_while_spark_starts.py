"""This process reads a part of the log itself while Spark starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import current_thread
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.capture.write_range import RangeTask, write_range
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess, map_at_once
from airflow_ddlrepl.trail.manifest import Part
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file

OWN = "ddlrepl-own"


class Starting(InProcess):
    """Two workers that are not there yet. mapped: what they were given."""

    parallelism = 2
    is_starting = True

    def __init__(self) -> None:
        self.mapped: list[int] = []

    def expect(self, size: int) -> None:
        pass

    def map(self, task: Callable[[Any], Any], items: Sequence[Any], label: str, size: int | None = None) -> list[Any]:
        self.mapped.append(len(items))
        return super().map(task, items, label, size)


def test_one_range_is_read_here_and_the_others_by_spark(
    databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, note text)")
    replica.begin()
    for low in range(0, 3000, 1000):
        rows = f"generate_series({low}, {low} + 999) i"
        replica.at_source(f"INSERT INTO t SELECT i, repeat(md5(i::text), 20) FROM {rows}")
    by: dict[int, str] = {}

    def noted(task: RangeTask) -> Part:
        by[task.index] = current_thread().name
        return write_range(task)

    monkeypatch.setattr("airflow_ddlrepl.engines.postgres.log.read_window.RANGE_BYTES", 1 << 18)
    monkeypatch.setattr("airflow_ddlrepl.capture.write_window.write_range", noted)
    runner = Starting()
    with flow.open_channel(replica.file, runner) as run:
        flow.capture(run)
    assert [name.startswith(OWN) for _, name in sorted(by.items())] == [True, False, False]
    assert runner.mapped == [2]
    replica.settle()


def half(number: int) -> float:
    if number % 2:
        raise DdlReplError(f"{number} is odd", code="INT-100")
    return number / 2


def test_results_and_errors_are_those_of_the_order() -> None:
    assert map_at_once(Starting(), half, [2, 4, 6], "halves") == [1, 2, 3]
    assert map_at_once(Starting(), half, [2], "halves") == [1]
    assert map_at_once(Starting(), half, [], "halves") == []
    for numbers in ([1, 3], [1, 2], [2, 1]):
        with pytest.raises(DdlReplError, match="1 is odd"):
            map_at_once(Starting(), half, numbers, "halves")
