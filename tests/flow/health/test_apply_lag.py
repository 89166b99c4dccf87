"""The target of an apply process is as far behind as the oldest commit that it does not have, wherever that waits."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.flow.health.channel import channel_health
from tests.flow.streams.streams_channel import StreamsChannel
from tests.flow.streams.test_activation import ALL, PROPAGATION, SYNC, apply, begun
from tests.support.replica import run

ANY_QUEUE = pytest.mark.parametrize("chain", [(ALL, apply("q1")), (ALL, PROPAGATION, apply())], ids=["one", "two"])


def behind(channel: StreamsChannel) -> dict[str, Any]:
    found = channel.stage(flow.status)
    (state,) = found.to_json()["apply"]
    line = next(line for line in found.text().splitlines() if line.startswith("target site, written by"))
    assert (f"{state['lag_seconds']} s behind" in line) == (state["lag_seconds"] is not None)
    return dict(state)


@ANY_QUEUE
def test_a_commit_counts_in_the_log_in_each_queue_and_until_it_is_applied(
    databases: Any, tmp_path: Path, chain: tuple[Any, ...]
) -> None:
    channel = begun(databases, tmp_path, *chain)
    channel.stage(flow.replicate)
    assert behind(channel)["lag_seconds"] == 0.0
    channel.at_source("INSERT INTO hr.t VALUES (2, 2)")
    waited = 0.0
    for stage in (None, flow.capture, flow.propagate):  # nobody has read it; it is in the first queue; in the second
        if stage is not None:
            channel.stage(stage)
        time.sleep(0.3)
        waited += 0.3
        assert waited <= behind(channel)["lag_seconds"] < 60, stage
    channel.stage(flow.replicate)
    assert behind(channel)["lag_seconds"] == 0.0


def test_a_transaction_in_the_error_queue_is_one_that_the_target_does_not_have(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, ALL, apply("q1"))
    run(databases.target, "INSERT INTO hr.t VALUES (2, 9)")
    channel.at_source("INSERT INTO hr.t VALUES (2, 2)")
    with pytest.raises(ApplyError):
        channel.stage(flow.replicate)
    time.sleep(0.2)
    found = behind(channel)
    assert found["waiting"] == 1 and 0.2 <= found["lag_seconds"] < 60


def test_what_triggers_have_captured_is_at_most_as_old_as_their_last_run(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, SYNC, apply("streams_queue"))
    channel.stage(flow.replicate)
    channel.at_source("INSERT INTO hr.t VALUES (2, 2)")
    time.sleep(0.2)
    found = behind(channel)
    assert found["lag_is_at_most"] and 0.2 <= found["lag_seconds"] < 60


def test_the_health_of_a_channel_with_clients_tells_of_its_targets(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, ALL, apply("q1"))
    channel.stage(flow.replicate)
    found = channel.stage(lambda run: channel_health(run.repository, run.channel.name, run.source.clock()))
    (target,) = found["targets"]
    assert (target["target"], target["verdict"]["level"]) == ("site", "good"), target["verdict"]
    assert [row["target"] for row in found["history"]] and found["verdict"]["level"] == "good"
