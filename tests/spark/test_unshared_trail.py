"""A trail at a path that means another folder on the workers: found out, nothing lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.capture.write_range import RangeTask
from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.ports.work import InProcess, Runner
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file


class Elsewhere:
    """A runner for whose tasks the trail's path is another folder, as on another machine."""

    parallelism = 1

    def __init__(self, folder: Path) -> None:
        self.url = folder.as_uri()

    def map(self, task: Callable[[Any], Any], items: Sequence[Any], label: str, size: int | None = None) -> list[Any]:
        return [task(self._there(item)) for item in items]

    def _there(self, item: Any) -> Any:
        if isinstance(item, list):
            return [self._there(one) for one in item]
        if isinstance(item, RangeTask):
            return replace(item, writing=replace(item.writing, trail_url=self.url))
        return replace(item, trail_url=self.url)


@pytest.fixture
def replica(databases: Databases, tmp_path: Path) -> Replica:
    file = channel_file(tmp_path, databases.source, databases.target, trail=(tmp_path / "driver").as_uri())
    found = Replica(databases.source, databases.target, file)
    found.at_source("CREATE TABLE t (id int PRIMARY KEY)")
    found.activate()
    found.at_source("INSERT INTO t VALUES (1)")
    return found


def stage(replica: Replica, what: Callable[..., Any], runner: Runner) -> Any:
    with flow.open_channel(replica.file, runner) as run:
        return what(run)


def test_captured_on_another_machine(replica: Replica, tmp_path: Path) -> None:
    with pytest.raises(TrailError, match=r"TRL-111: .*driver of this process is not the trail of Spark") as caught:
        stage(replica, flow.capture, Elsewhere(tmp_path / "worker"))
    assert "s3://" in caught.value.hint
    replica.settle()


def test_integrated_on_another_machine(replica: Replica, tmp_path: Path) -> None:
    """The worker's folder is a trail of this channel, too: of an older run, say."""
    stage(replica, flow.capture, InProcess())
    shutil.copytree(tmp_path / "driver", tmp_path / "worker", ignore=shutil.ignore_patterns("*.parquet"))
    with pytest.raises(TrailError, match="TRL-111"):
        stage(replica, flow.integrate, Elsewhere(tmp_path / "worker"))
    replica.settle()


def test_a_file_that_nobody_has_is_no_matter_of_machines(replica: Replica, tmp_path: Path) -> None:
    stage(replica, flow.capture, InProcess())
    for file in (tmp_path / "driver").rglob("*-0*.parquet"):
        file.unlink()
    with pytest.raises(TrailError, match="TRL-101"):
        stage(replica, flow.integrate, Elsewhere(tmp_path / "driver"))


def test_a_plan_needs_no_shared_folder(replica: Replica, tmp_path: Path) -> None:
    """It reads the log into a temporary folder of this machine."""
    replica.at_source("ALTER TABLE t ADD c int")
    planned = stage(replica, flow.plan, Elsewhere(tmp_path / "worker"))
    assert "ADD COLUMN" in planned.text()
    assert not (tmp_path / "worker").exists()
