"""`ddlrepl compare --repair`: what differs is written, row by row, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli.app import main
from airflow_ddlrepl.errors import Exit
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica, channel_file

ODD = '"T ""x; %s*"'
START = (
    "CREATE TABLE t (id int PRIMARY KEY, v text)",
    "INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 100) i",
    f"CREATE TABLE {ODD} (id int PRIMARY KEY)",
    f"INSERT INTO {ODD} VALUES (1), (2)",
    'CREATE TABLE "T ""x; %sy" (id int PRIMARY KEY)',
    "CREATE TABLE bag (n int)",
    "INSERT INTO bag VALUES (1), (1), (2)",
)


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    made = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    made.at_source(*START)
    made.activate()
    return made


def repair(replica: Replica, *tables: str) -> Any:
    with flow.open_channel(replica.file, InProcess()) as run:
        return flow.repair(run, tables)


def places(replica: Replica) -> list[tuple[Any, ...]]:
    """Where the rows lie: a row that is written again lies elsewhere."""
    return replica.rows("SELECT id, ctid::text, xmin::text FROM t WHERE id NOT IN (3, 4, 500) ORDER BY 1")


def test_what_differs_is_written_and_nothing_else(replica: Replica) -> None:
    before = places(replica)
    replica.at_target(
        "DELETE FROM t WHERE id = 3",
        "UPDATE t SET v = NULL WHERE id = 4",
        "INSERT INTO t VALUES (500, 'extra')",
        f"DELETE FROM {ODD}",
        "DELETE FROM bag WHERE n = 2",
        "CREATE INDEX mine ON t (v)",
    )
    found = repair(replica)
    assert (found.differences, set(found.repaired)) == (0, {"public.t", 'public.T "x; %s*', "public.bag"})
    assert "public.t was repaired" in found.text()
    assert places(replica) == before
    assert replica.rows("SELECT count(*) FROM pg_indexes WHERE indexname = 'mine'") == [(1,)]
    replica.at_source("UPDATE t SET v = 'on' WHERE id = 3", "INSERT INTO bag VALUES (3)")
    replica.settle()
    assert repair(replica).repaired == ()


def test_only_the_tables_that_are_named(replica: Replica) -> None:
    replica.at_target("DELETE FROM t WHERE id = 3", f"DELETE FROM {ODD}")
    assert repair(replica, "public.t").repaired == ("public.t",)
    assert replica.compare().differences == 2


def test_the_shape_and_a_table_that_is_gone(replica: Replica) -> None:
    replica.at_target("ALTER TABLE t DROP COLUMN v", "DROP TABLE bag")
    assert set(repair(replica).repaired) == {"public.t", "public.bag"}
    replica.at_source("ALTER TABLE t ADD w int DEFAULT 1", "DELETE FROM bag WHERE n = 1")
    replica.settle()


def test_what_is_on_its_way_comes_with_the_next_cycle(replica: Replica) -> None:
    """Neither a row nor a table that the log brings is a repair's business."""
    replica.at_source("UPDATE t SET v = 'new' WHERE id = 1", "CREATE TABLE late (id int PRIMARY KEY)")
    found = repair(replica)
    assert (found.repaired, found.differences, found.in_flight) == ((), 0, 2)
    assert "run `ddlrepl replicate`" in found.text() and "1 rows are not at the target yet" in found.text()
    assert replica.rows("SELECT v FROM t WHERE id = 1") == [("v1",)]
    replica.settle()


def test_from_the_command_line(replica: Replica, capfd: pytest.CaptureFixture[str]) -> None:
    replica.at_target("DELETE FROM t WHERE id = 3")
    for options, code in (((), Exit.FAILED), (("--repair", "--json"), Exit.DONE)):
        with pytest.raises(SystemExit) as end:
            main(("compare", str(replica.file), *options))
        assert end.value.code == code
        told = capfd.readouterr().out
    assert json.loads(told)["repaired"] == ["public.t"]
