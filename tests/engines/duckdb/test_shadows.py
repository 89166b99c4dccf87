"""The rows of a shadow are there once, however often a task that finishes them is run, and wherever it is killed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from airflow_ddlrepl.engines.duckdb.load.finish import finish
from airflow_ddlrepl.engines.duckdb.load.shadow import SHADOWS, Shadow
from airflow_ddlrepl.model.names import TableName

NAME = TableName(SHADOWS, "s_1_r1")
WITHOUT_TWO = (f'DELETE FROM {SHADOWS}."{NAME.name}" WHERE n = 2',)


@pytest.fixture
def shadow(tmp_path: Path) -> Shadow:
    found = Shadow(tmp_path / NAME.name)
    found.make({"n": "INTEGER"})
    load(found)
    return found


def load(shadow: Shadow) -> None:
    rows = pa.table({"n": pa.array([1, 2, 3], pa.int32())})
    with pa.OSFile(str(shadow.chunk("1")), "wb") as file, pa.ipc.new_stream(file, rows.schema) as writer:
        writer.write_table(rows)


def numbers(shadow: Shadow) -> list[int]:
    rows = shadow.rows
    return [] if rows is None else rows["n"].to_pylist()


def test_a_task_that_is_run_again_adds_no_row(shadow: Shadow) -> None:
    finish(shadow, NAME, WITHOUT_TWO)
    assert numbers(shadow) == [1, 3]
    load(shadow)
    finish(shadow, NAME, WITHOUT_TWO)
    assert numbers(shadow) == [1, 3]


def test_a_task_that_is_killed_among_its_files_loses_no_row(shadow: Shadow, monkeypatch: pytest.MonkeyPatch) -> None:
    unlink = Path.unlink

    def killed(path: Path, missing_ok: bool = False) -> None:
        if path.name.startswith("chunk_"):
            raise KeyboardInterrupt
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", killed)
    with pytest.raises(KeyboardInterrupt):
        finish(shadow, NAME, WITHOUT_TWO)
    assert numbers(shadow) == [1, 3] and shadow.is_finished
