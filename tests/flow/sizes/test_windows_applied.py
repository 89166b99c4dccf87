"""Rows of a long log are applied while the rest of it is captured."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from airflow_ddlrepl.errors import TablesSuspended
from airflow_ddlrepl.flow.cycle.windows_applied import WindowsApplied
from airflow_ddlrepl.model.position import Position
from tests.conftest import Databases
from tests.support.crashing import die
from tests.support.replica import Replica, channel_file

ROWS = 1000
SMALLEST = 1 << 20
"""Of the windows that a channel file can ask for: each block of rows is a window and more."""


@pytest.fixture
def replica(databases: Databases, tmp_path: Path) -> Replica:
    file = channel_file(tmp_path, databases.source, databases.target, capture={"window_bytes": SMALLEST})
    found = Replica(databases.source, databases.target, file)
    found.at_source(
        "CREATE TABLE t (id int PRIMARY KEY, note text)",
        "CREATE TABLE log (n int)",
        "INSERT INTO t VALUES (0, 'first')",
    )
    found.begin()
    return found


@pytest.fixture
def seen(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows the target has after each window but the last, for which the capture waits here."""
    found: list[int] = []
    tell = WindowsApplied.tell

    def waiting(ahead: WindowsApplied, captured: Position) -> None:
        tell(ahead, captured)
        assert ahead._at_work is not None
        ahead._at_work.result(60)
        found.append(rows_of(replica))

    monkeypatch.setattr(WindowsApplied, "tell", waiting)
    return found


def rows_of(replica: Replica) -> int:
    ((found,),) = replica.rows("SELECT count(*) FROM t")
    return int(found)


def block(number: int) -> str:
    """A transaction of more than SMALLEST bytes of log: new rows, one in a table without a key, one changed again."""
    return (
        f"INSERT INTO t SELECT {number * ROWS} + i, repeat(md5(i::text), 40) FROM generate_series(1, {ROWS}) i;"
        f" INSERT INTO log VALUES ({number}); UPDATE t SET note = '{number}' WHERE id = 0"
    )


def test_a_window_is_at_the_target_before_the_next_ones_are_captured(replica: Replica, seen: list[int]) -> None:
    replica.at_source(*map(block, range(3)))
    result = replica.settle()
    assert seen == sorted(seen) and ROWS < seen[-1] < 3 * ROWS + 1
    assert result.capture.rows == 3 * ROWS + 6
    assert result.integrate.rows == {"changes": 3 * ROWS + 6, "inserted": 3 * ROWS + 3, "updated": 3}


def test_what_follows_a_schema_change_waits_for_the_stages(replica: Replica, seen: list[int]) -> None:
    replica.at_source(*map(block, (0, 1)), "ALTER TABLE t ADD COLUMN n int DEFAULT 7", *map(block_of_three, (2, 3)))
    result = replica.settle()
    assert len(seen) >= 4 and ROWS < seen[-1] <= 2 * ROWS + 1
    assert result.adapt.changes == {"add_column": 1}


def block_of_three(number: int) -> str:
    return block(number).replace("40) FROM", "40), i FROM")


def test_what_a_target_refuses_is_told_once_all_is_captured(
    replica: Replica, seen: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    replica.at_target("DELETE FROM t")
    replica.at_source(*map(block, range(3)))
    with caplog.at_level(logging.INFO, "ddlrepl"), pytest.raises(TablesSuspended, match="INT-101"):
        replica.replicate()
    assert set(seen) == {0}
    assert sum("is applied when all is captured" in line for line in caplog.messages) == 1
    replica.refresh("public.t")
    replica.settle()


@pytest.mark.req("XR-09")
@pytest.mark.parametrize(
    "point", ["replicate.window", "integrate.staged", "integrate.transaction", "integrate.committed", "capture.files:2"]
)
def test_a_run_that_is_killed_beside_its_capture_repeats_and_loses_nothing(replica: Replica, point: str) -> None:
    replica.at_source(*map(block, range(3)))
    die("replicate", replica.file, point)
    replica.at_source(block(3))
    replica.settle()
