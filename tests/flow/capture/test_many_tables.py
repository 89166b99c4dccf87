"""Many tables with few changes, and few changes among many tables: what a cycle leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.merge import stage
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model import stored
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica, channel_file

TABLES = 20
READS_PER_CHANGED_TABLE = 4  # its newest revision and all of them; as the target has it in adapt and in integrate


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    made = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    made.at_source(*(f"create table t{n} (id int primary key, note text, of_{n} numeric)" for n in range(TABLES)))
    made.at_source(*(f"insert into t{n} select i, 'old', i / 3.0 from generate_series(1, 9) i" for n in range(TABLES)))
    made.activate()
    made.settle()
    return made


def test_few_rows_of_many_tables_need_neither_files_nor_staging_tables_of_their_own(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica.at_source(
        *(f"insert into t{n} values (10, 'new', 'NaN'), (11, null, {n})" for n in range(TABLES)),
        *(f"update t{n} set note = 'moved', id = id + 100 where id < 3" for n in range(TABLES)),
        *(f"update t{n} set note = 'updated' where id > 7 and id < 11" for n in range(TABLES)),
        *(f"delete from t{n} where id = 5" for n in range(TABLES)),
    )

    def never(*_: object) -> None:
        raise AssertionError("a staging table")

    monkeypatch.setattr(stage, "load", never)
    replica.settle()
    with flow.open_channel(replica.file, InProcess()) as run:
        parts = [part for segment in run.trail.segments(run.epoch) for part in segment.parts if part.files]
    assert [part.pack is not None for part in parts] == [True]
    assert all(file.offset is not None for file in parts[0].files)


def test_only_shapes_that_a_cycle_looks_at_are_parsed(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    replica.at_source("insert into t7 values (10, 'new', 1)")
    replica.replicate()  # with what the activation left to look at
    parsed: list[int] = []
    read = stored._become

    def counted(table: Table, text: str) -> None:
        read(table, text)  # type: ignore[arg-type]
        parsed.append(table.id)

    monkeypatch.setattr(stored, "_become", counted)
    monkeypatch.setattr(RunContext, "stage_ended", lambda *_: None)  # a status, now and then, looks at all of them
    replica.at_source("insert into t7 values (11, 'new', 1)", "delete from t7 where id = 5")
    replica.replicate()
    assert len(set(parsed)) == 1 and len(parsed) <= READS_PER_CHANGED_TABLE
    monkeypatch.undo()
    replica.check_equal()


class Expecting(InProcess):
    """A runner that notes how much work it is told of before it has any."""

    def __init__(self) -> None:
        self.expected: list[int] = []

    def expect(self, size: int) -> None:
        self.expected.append(size)


def test_a_capture_tells_its_runner_how_much_log_there_is_before_it_reads_any(replica: Replica) -> None:
    replica.at_source("insert into t1 select i, repeat('x', 1000), 1 from generate_series(100, 1100) i")
    runner = Expecting()
    with flow.open_channel(replica.file, runner) as run:
        flow.capture(run)
    (size,) = runner.expected
    assert 1_000_000 < size < 100_000_000
