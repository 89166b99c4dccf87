"""Status: positions, how far each target is behind, what the trail holds, how every table stands, the last runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli.exit_codes import judge_status
from airflow_ddlrepl.errors import ControlStop, Exit
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Make, Replica, channel_file


def status(replica: Replica) -> Any:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return flow.status(cycle)


def test_status_tells_how_far_everything_is(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int PRIMARY KEY)")
    replica.settle()
    told = status(replica).to_json()
    assert (told["targets"]["warehouse"]["lag_seconds"], told["trail"]["segments"]) == (0.0, 0)

    replica.at_source("INSERT INTO t SELECT generate_series(1, 1000)", "ALTER TABLE u ADD a text")
    time.sleep(0.3)
    behind = status(replica).to_json()
    assert behind["lag_bytes"] > 10_000
    assert behind["targets"]["warehouse"]["lag_bytes"] >= behind["lag_bytes"]
    assert 0.3 <= behind["targets"]["warehouse"]["lag_seconds"] < 60  # nobody has read the log yet

    replica.capture()
    time.sleep(0.2)
    held = status(replica).to_json()
    warehouse = held["targets"]["warehouse"]
    assert held["captured"] > warehouse["position"] == behind["targets"]["warehouse"]["position"]
    assert warehouse["lag_seconds"] >= 0.2
    assert held["trail"]["segments"] == 1 and held["trail"]["bytes"] > 1000
    assert held["trail"]["from"] == warehouse["position"]
    assert {t["table"]: t["revision"] for t in warehouse["tables"]} == {"public.t": 0, "public.u": 1}

    replica.settle()
    found = status(replica)
    done = found.to_json()
    assert done["targets"]["warehouse"]["lag_seconds"] == 0.0
    assert done["trail"]["segments"] == 0 and done["trail"]["retained"]["segments"] >= 1  # nobody needs them
    assert done["targets"]["warehouse"]["position"] == done["captured"]
    runs = {run["stage"]: run for run in done["runs"]}
    assert {"activate", "capture", "adapt", "integrate", "replicate"} <= set(runs)
    assert all(run["status"] == "done" and run["seconds"] >= 0 for run in runs.values())
    text = found.text()
    assert "  public.u  revision 1  live" in text and "last replicate: done in " in text


def test_status_of_a_target_that_does_not_answer(databases: Databases, tmp_path: Path) -> None:
    place = (databases.source, databases.target)
    replica = Replica(*place, channel_file(tmp_path, *place))
    replica.activate()
    away = {"name": "away", "location": "postgresql://nobody@127.0.0.1:1/nowhere"}
    channel_file(tmp_path, *place, targets=[away, {"name": "warehouse", "location": databases.target}])
    found = status(replica)
    told = found.to_json()["targets"]
    assert told["away"]["unreachable"] and told["away"]["position"] is None
    assert told["warehouse"]["unreachable"] is None and told["warehouse"]["position"]
    assert "target away does not answer" in found.text() and "target warehouse at" in found.text()
    assert judge_status(found) is Exit.UNREACHABLE


def test_status_of_a_source_that_does_not_answer(databases: Databases, tmp_path: Path) -> None:
    place = (databases.source, databases.target)
    replica = Replica(*place, channel_file(tmp_path, *place))
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)")
    replica.activate()
    down = "postgresql://nobody@127.0.0.1:1/nowhere"
    channel_file(tmp_path, down, databases.target)
    found = status(replica)
    told = found.to_json()
    assert told["source"] is None and "127.0.0.1:1" in told["source_unreachable"] and told["lag_bytes"] is None
    assert told["targets"]["warehouse"]["position"] == told["captured"]
    assert "the source does not answer" in found.text() and "  public.t  revision 0  live" in found.text()
    assert judge_status(found) is Exit.UNREACHABLE


def test_status_shows_a_run_that_stopped_for_a_person(make: Make) -> None:
    breaks = [{"add_table_pattern": "*", "on_enroll_break": "FAIL_INTEG_JOB"}]
    replica = make("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, '1')", adapt_ddl=breaks)
    replica.settle()
    replica.at_source("ALTER TABLE t ALTER v TYPE int USING v::int + 0")
    with pytest.raises(ControlStop):
        replica.replicate()
    found = status(replica).to_json()
    assert found["controls"] == 1 and found["errors"] > 0
    assert {run["stage"]: run["status"] for run in found["runs"]}["adapt"] == "failed"
