"""Positions that a channel's page shows together are of one moment, or say of which moment each is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.flow.admin import status as status_module
from airflow_ddlrepl.flow.admin.status import status
from airflow_ddlrepl.flow.health.channel import channel_health
from airflow_ddlrepl.flow.reporting import keep_status
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.health_rows import Outcome, StageEnd
from tests.support.replica import Make, Replica

TABLE = "CREATE TABLE t (id int PRIMARY KEY)"
START = datetime(2026, 1, 1, tzinfo=UTC)


def health(replica: Replica) -> dict[str, Any]:
    with Repository.open(load_channel(replica.file).repository) as repository:
        return dict(channel_health(repository, "shop", datetime.now(UTC)))


def fits(source: dict[str, Any]) -> bool:
    captured, end = Position.parse(source["captured"]), Position.parse(source["position"])
    return end >= captured and source["lag_bytes"] == end - captured


@pytest.fixture
def replica(make: Make, monkeypatch: pytest.MonkeyPatch) -> Replica:
    """A channel with a status, and no other one after it: it would cost too much."""
    found = make(TABLE)
    found.settle()
    monkeypatch.setattr(keep_status, "COSTS_AT_MOST", 0.0)
    return found


def test_a_log_end_is_never_shown_behind_what_is_captured(replica: Replica) -> None:
    before = health(replica)["source"]
    assert fits(before)
    replica.at_source("INSERT INTO t SELECT generate_series(1, 100)")
    staged(replica, flow.capture)
    captured = health(replica)["source"]
    assert Position.parse(captured["captured"]) > Position.parse(before["position"])
    assert fits(captured) and not captured["position_is_at_least"] and captured["as_of"] >= before["as_of"]


def test_a_target_s_position_and_lag_are_of_one_moment(replica: Replica) -> None:
    replica.at_source("INSERT INTO t SELECT generate_series(1, 100)")
    replica.replicate()
    found = health(replica)
    (target,) = found["targets"]
    assert target["position"] == found["source"]["captured"] and fits(found["source"])
    replica.at_source("INSERT INTO t SELECT generate_series(101, 200)")
    staged(replica, flow.capture)
    later = health(replica)
    (same,) = later["targets"]
    assert {**same, "verdict": None} == {**target, "verdict": None}
    assert Position.parse(later["source"]["captured"]) > Position.parse(same["position"])


def test_a_stage_with_nothing_to_do_does_not_bring_an_older_position_back(replica: Replica) -> None:
    """What it once brought is older than the status that another run has found since."""
    staged(replica, lambda cycle: keep_status.take_status(cycle, "status"))
    with Repository.open(load_channel(replica.file).repository) as repository:
        row = repository.stored_status("shop")
        assert row is not None and row.content is not None
        repository.set_stage_end("shop", _end(START, captured="0/1", positions={"warehouse": "0/1"}))
        repository.set_stage_end("shop", _end(row.taken + timedelta(seconds=5)))
    found = health(replica)
    assert found["source"]["captured"] == row.content["captured"]
    assert found["targets"][0]["position"] == row.content["targets"]["warehouse"]["position"]


def test_a_failure_does_not_take_back_what_was_brought(replica: Replica) -> None:
    with Repository.open(load_channel(replica.file).repository) as repository:
        late = datetime.now(UTC) + timedelta(seconds=5)
        repository.set_stage_end("shop", _end(late, captured="FF/1", source="FF/2", lag_bytes=1))
        repository.set_stage_end("shop", _end(late, Outcome.FAILED))
    assert (health(replica)["source"]["captured"], health(replica)["source"]["position"]) == ("FF/1", "FF/2")


def test_an_end_of_log_that_nobody_has_asked_for_again_is_said_to_be_at_least_that(replica: Replica) -> None:
    with Repository.open(load_channel(replica.file).repository) as repository:
        late = datetime.now(UTC) + timedelta(seconds=5)
        repository.set_stage_end("shop", _end(late, captured="FF/1"))
    found = health(replica)["source"]
    assert (found["captured"], found["position"], found["lag_bytes"]) == ("FF/1", "FF/1", None)
    assert found["position_is_at_least"]


def test_a_run_that_goes_on_puts_no_target_in_front_of_what_is_captured(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A status looks at the source and the targets one after the other; a cycle runs in between."""
    look = status_module._source

    def looked(context: Any) -> Any:
        found = look(context)
        monkeypatch.setattr(status_module, "_source", look)
        replica.at_source("INSERT INTO t SELECT generate_series(1, 100)")
        replica.replicate()
        return found

    monkeypatch.setattr(status_module, "_source", looked)
    found = staged(replica, status).to_json()
    at = Position.parse(found["targets"]["warehouse"]["position"])
    captured, end = Position.parse(found["captured"]), Position.parse(found["source"])
    assert at <= captured <= end
    assert found["lag_bytes"] == end - captured and found["targets"]["warehouse"]["lag_bytes"] == end - at


def _end(at: datetime, outcome: Outcome | None = None, **progress: Any) -> StageEnd:
    done = Outcome.DONE if progress else Outcome.IDLE
    told = {**progress, "at": at.isoformat()} if progress else {}
    return StageEnd("capture", "r", at, at, outcome or done, progress=told)


def staged(replica: Replica, do: Any) -> Any:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return do(cycle)
