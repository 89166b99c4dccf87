"""`capture: {no_truncate: true}` (HVR's NoTruncate): a TRUNCATE of the source's is no change of the targets'."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.file.warnings import warnings
from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.model.change import EventKind
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replayable import HORIZON, captured, read
from tests.support.replica import Replica, channel_file, may_differ


@pytest.fixture
def replica(databases: Any, tmp_path: Path, past: str) -> Replica:
    file = channel_file(
        tmp_path,
        databases.source,
        databases.target,
        capture={"no_truncate": True},
        rewind_horizon=HORIZON,
        replays=[{"name": "past", "location": past}],
    )
    made = Replica(databases.source, databases.target, file)
    made.at_source(
        "CREATE TABLE t (id int PRIMARY KEY, v int)",
        "INSERT INTO t VALUES (1, 1), (2, 2)",
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM (0) TO (100)",
        "INSERT INTO p VALUES (1)",
        "CREATE TABLE whole (id int PRIMARY KEY)",
    )
    made.activate()
    return made


def kinds(replica: Replica) -> set[EventKind]:
    with flow.open_channel(replica.file, InProcess()) as run:
        segments = [run.trail.segment(row.epoch, row.low) for row in run.live_segments()]
        return {event.kind for segment in segments for event in run.trail.events(segment)}


@pytest.mark.req("HVR-D-60")
def test_a_truncate_makes_no_record_and_the_targets_rows_stay(replica: Replica) -> None:
    """What comes before and after it arrives; the status says which tables may differ, until a refresh."""
    replica.at_source("UPDATE t SET v = 10 WHERE id = 1", "TRUNCATE t, p", "INSERT INTO t VALUES (3, 3)")
    told = replica.replicate()
    assert "TRUNCATE" not in told.capture.ddl and EventKind.TRUNCATE not in kinds(replica)
    assert [w for w in told.adapt.warnings if w.startswith("public.t: no_truncate: ")]
    assert replica.rows("SELECT * FROM t ORDER BY id") == [(1, 10), (2, 2), (3, 3)]
    assert replica.rows("SELECT * FROM p") == [(1,)]
    first = may_differ(replica)
    assert len(first) == 2 and all("no_truncate: the source's table was truncated" in why for why in first)
    replica.at_source("UPDATE t SET v = 30", "TRUNCATE t", "INSERT INTO t VALUES (4, 4)")
    replica.replicate()
    assert replica.rows("SELECT * FROM t ORDER BY id") == [(1, 10), (2, 2), (3, 30), (4, 4)]
    assert may_differ(replica) == first
    replica.refresh("public.t", "public.p_1")
    assert may_differ(replica) == []
    replica.check_equal()


def test_a_row_that_comes_again_stops_integrate_until_a_refresh(replica: Replica) -> None:
    """Whether it comes in the same window or in a later one; nothing is overwritten unseen."""
    assert [w for w in warnings(load_channel(replica.file)) if "capture.no_truncate" in w]
    replica.at_source("INSERT INTO t VALUES (5, 5)", "TRUNCATE t", "INSERT INTO t VALUES (5, 6)")
    with pytest.raises(TargetError, match="INT-102"):
        replica.replicate()
    assert replica.rows("SELECT * FROM t ORDER BY id") == [(1, 1), (2, 2), (5, 5)]
    replica.refresh("public.t")
    replica.settle()


def test_a_table_that_waits_for_its_load_does_not_differ(replica: Replica) -> None:
    replica.at_source(
        "CREATE TABLE late AS SELECT i AS id FROM generate_series(1, 3) i",
        "ALTER TABLE late ADD PRIMARY KEY (id)",
        "TRUNCATE late",
        "INSERT INTO late VALUES (1)",
    )
    replica.replicate()
    assert (may_differ(replica), replica.compare().differences) == ([], 0)


def test_a_rewind_keeps_the_rows_as_well(replica: Replica, past: str) -> None:
    replica.at_source("TRUNCATE t", "INSERT INTO t VALUES (3, 3)")
    replica.replicate()
    replica.at_source("DELETE FROM t", "INSERT INTO whole VALUES (1)")
    replica.replicate()
    with flow.open_channel(replica.file, InProcess()) as run:
        at = str(run.captured())
    replica.rewind(at)
    assert read(past, "SELECT id FROM t ORDER BY 1") == [(1,), (2,)] == replica.rows("SELECT id FROM t ORDER BY 1")


def test_a_target_that_goes_back_and_on_may_still_differ(replica: Replica) -> None:
    before = captured(replica)
    replica.at_source("TRUNCATE t", "INSERT INTO t VALUES (3, 3)")
    replica.replicate()
    told = may_differ(replica)
    replica.rewind(before, "warehouse", ["public.t"])
    assert replica.rows("SELECT id FROM t ORDER BY id") == [(1,), (2,), (3,)]
    assert len(told) == 1 and may_differ(replica) == told


def test_without_it_a_truncate_is_one(replica: Replica) -> None:
    replica.file.write_text(replica.file.read_text().replace("no_truncate: true", "no_truncate: false"))
    replica.at_source("TRUNCATE t")
    captured(replica)
    assert EventKind.TRUNCATE in kinds(replica) and replica.rows("SELECT count(*) FROM t") == [(0,)]
