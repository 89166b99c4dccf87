"""Whatever is wrong with a channel, its verdict is not good; and it is good again when that is over."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.health import verdicts
from airflow_ddlrepl.flow.health.verdict import Level, Verdict, worst
from airflow_ddlrepl.flow.reporting import keep_status
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.health_rows import LagRow
from tests.flow.health.test_channel_health import health, verdict
from tests.support.crashing import die
from tests.support.replica import Make, Replica

TABLE = "CREATE TABLE t (id int PRIMARY KEY, v text)"


def look(replica: Replica) -> None:
    """The whole status is stored, as after the last stage of a cycle."""
    with flow.open_channel(replica.file, InProcess()) as run:
        keep_status.take_status(run, "integrate")


def fails(replica: Replica) -> DdlReplError:
    with pytest.raises(DdlReplError) as caught:
        replica.replicate()
    return caught.value


def of_target(replica: Replica, name: str = "warehouse") -> tuple[str, str]:
    (found,) = (one["verdict"] for one in health(replica)["targets"] if one["target"] == name)
    return found["level"], found["sentence"]


def test_the_worst_of_several_counts() -> None:
    levels = [Level.LATE, Level.BAD, Level.GOOD, Level.WAITING, Level.UNKNOWN]
    found = worst(Verdict(level, str(level)) for level in levels)
    assert found is not None and found.level is Level.BAD


def test_a_target_that_is_far_behind_is_late(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "LATE_SECONDS", 0.5)
    replica = make(TABLE)
    replica.replicate()
    replica.at_source("INSERT INTO t VALUES (1, 'x')")
    time.sleep(1)
    look(replica)
    assert of_target(replica)[0] == "late" and "behind the source" in of_target(replica)[1]
    assert verdict(replica)[0] == "late" and verdict(replica)[1].startswith("target warehouse is ")
    replica.replicate()
    look(replica)
    assert verdict(replica)[0] == "good"


def test_the_newest_cycle_tells_the_lag_where_the_status_is_older(make: Make) -> None:
    """A whole status is not taken after each cycle; how far targets are is."""
    replica = make(TABLE)
    replica.replicate()
    look(replica)
    found = []
    with Repository.open(load_channel(replica.file).repository) as repository:
        for seconds in (1000.0, 0.0, None):
            repository.add_lag("shop", [LagRow("warehouse", datetime.now(UTC), seconds, 0, 0, 0, {})])
            found.append(of_target(replica)[0])
    assert found == ["late", "good", "good"]


def test_a_file_of_the_trail_that_is_gone(make: Make, tmp_path: Path) -> None:
    replica = make(TABLE)
    replica.replicate()
    replica.at_source("INSERT INTO t VALUES (1, 'x')")
    replica.capture()
    for file in (tmp_path / "trail").rglob("*.json"):
        file.unlink()
    look(replica)
    assert verdict(replica) == ("bad", "a file of the trail is missing or damaged")


def test_a_run_that_died(make: Make) -> None:
    replica = make(TABLE)
    replica.replicate()
    replica.at_source("INSERT INTO t VALUES (1, 'x')")
    die("replicate", replica.file, "capture.files")
    level, sentence = verdict(replica)
    assert level == "late" and sentence.endswith("has ended without a result")
    replica.replicate()
    assert verdict(replica)[0] == "good"


def test_a_target_that_is_new_in_the_channel_file(make: Make, past: str) -> None:
    replica = make(TABLE)
    replica.replicate()
    known = yaml.safe_load(replica.file.read_text())
    known["targets"].append({"name": "second", "location": past})
    replica.file.write_text(yaml.safe_dump(known, sort_keys=False))
    look(replica)
    assert of_target(replica, "second") == ("waiting", "is not prepared")
    assert verdict(replica) == ("waiting", "target second is not prepared")


def test_tables_that_are_to_be_loaded(make: Make) -> None:
    replica = make(TABLE)
    replica.replicate()
    replica.at_source("ALTER TABLE t ALTER v TYPE int USING length(v)")
    replica.adapt()
    look(replica)
    assert verdict(replica) == ("late", "target warehouse has 1 table that waits to be loaded")
    replica.replicate()
    assert verdict(replica)[0] == "good"


def test_a_stage_that_fails_until_a_whole_cycle_goes_well(make: Make) -> None:
    replica = make(TABLE)
    replica.replicate()
    with psycopg.connect(replica.source, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database()"
        )
    error = fails(replica)
    with pytest.raises(DdlReplError):
        replica.capture()
    found = health(replica)
    assert found["verdict"]["level"] == "bad"
    assert {one["stage"]: one["code"] for one in found["failures"]} == {"capture": error.code, "replicate": error.code}
    replica.activate()
    look(replica)
    assert verdict(replica)[0] == "bad"  # nobody has seen that a cycle works
    replica.replicate()
    assert verdict(replica)[0] == "good"


def test_what_is_wrong_at_the_source_waits_for_a_person(make: Make) -> None:
    replica = make(TABLE)
    replica.replicate()
    with psycopg.connect(replica.source) as connection:
        names = [name for (name,) in connection.execute("SELECT evtname FROM pg_event_trigger")]
    replica.at_source(*(f'ALTER EVENT TRIGGER "{name}" DISABLE' for name in names))
    look(replica)
    assert verdict(replica)[0] == "waiting"
    assert {one["kind"] for one in health(replica)["waiting"]} == {"source"}


def test_a_suspended_table_is_told_and_taken_back_at_once_however_dear_a_status_is(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = make(TABLE)
    replica.replicate()
    look(replica)
    monkeypatch.setattr(keep_status, "COSTS_AT_MOST", 0)
    replica.at_target("ALTER TABLE t ADD CHECK (id < 100)")
    replica.at_source("INSERT INTO t VALUES (1000, 'x')")
    assert fails(replica).code == "INT-123"
    assert verdict(replica) == ("waiting", "target warehouse has 1 table that waits for a person")
    replica.at_target("ALTER TABLE t DROP CONSTRAINT t_id_check")
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.retry(run)
    replica.replicate()
    assert verdict(replica)[0] == "good"
    assert replica.rows("SELECT id FROM t") == [(1000,)]


def stages(replica: Replica, *names: str) -> list[Any]:
    return [one for one in health(replica)["stages"] if one["stage"] in names]


def test_a_stage_alone_that_ends_well_does_not_cure_a_cycle_that_fails(make: Make) -> None:
    replica = make(TABLE)
    replica.replicate()
    replica.at_target("DROP TABLE t")
    replica.at_source("INSERT INTO t VALUES (1, 'x')")
    fails(replica)
    replica.capture()
    assert verdict(replica)[0] != "good"
    assert [one["stage"] for one in health(replica)["failures"]] == ["replicate"]
    assert [one["outcome"] for one in stages(replica, "capture", "replicate")] == ["failed", "done"]
