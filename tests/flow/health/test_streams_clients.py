"""The health of a channel says of each client of Streams where it is, what waits for it, and what has stopped it."""

from __future__ import annotations

import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import ApplyError, RuleError
from airflow_ddlrepl.flow.client_states import queued as counting
from airflow_ddlrepl.flow.health.channel import channel_health
from airflow_ddlrepl.flow.reporting.keep_status import take_status
from airflow_ddlrepl.flow.streams.dequeue import dequeue
from airflow_ddlrepl.flow.streams.enqueue import enqueue
from airflow_ddlrepl.streams.messages import UserMessage
from tests.flow.streams.streams_channel import BATTERY_TABLES, StreamsChannel, streams_channel
from tests.flow.streams.test_activation import ALL, PROPAGATION, SYNC, apply, begun
from tests.support.replica import run

DEQUEUE = {
    "add_message_rule": {"message_type": "own.note", "rule_condition": ":msg.f = 1", "streams_type": "dequeue",
                         "streams_name": "reader", "queue_name": "q1"}
}  # fmt: skip
FAILING = {"set_rule_transform_function": {"rule_name": "passing", "transform_function": "f"}}


def health(channel: StreamsChannel) -> dict[str, Any]:
    """What the page shows, after a look at the source and at the targets."""
    channel.stage(lambda context: take_status(context, "status"))
    return dict(channel.stage(lambda run: channel_health(run.repository, run.channel.name, run.source.clock())))


def clients(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in found["clients"]}


def messages(found: dict[str, Any]) -> dict[str, int | None]:
    return {name: one["messages"] for name, one in clients(found).items()}


def test_a_row_is_counted_where_it_waits_until_the_last_client_has_it(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, ALL, PROPAGATION, apply())
    channel.stage(flow.replicate)
    before = clients(health(channel))
    assert messages(health(channel)) == {"cap": None, "prop": 0, "app": 0}
    channel.at_source("INSERT INTO hr.t VALUES (2, 2), (3, 3)", "ALTER TABLE hr.t ADD more int")
    time.sleep(0.3)
    behind = clients(health(channel))["cap"]
    assert 0.3 <= behind["lag_seconds"] < 60 and behind["lag_bytes"] > 0
    channel.stage(flow.capture)
    found = health(channel)
    assert messages(found) == {"cap": None, "prop": 3, "app": 0}
    assert 0.3 <= clients(found)["prop"]["lag_seconds"] < 60 and clients(found)["app"]["lag_seconds"] == 0.0
    queues = {one["queue"]: one for one in found["queues"]}
    assert [(name, one["messages"]) for name, one in queues.items()] == [("q1", 3), ("q2", 0)]
    assert clients(found)["cap"]["positions"] == queues["q1"]["positions"] == {"capture": found["source"]["captured"]}
    assert clients(found)["prop"]["positions"] == before["prop"]["positions"] != queues["q1"]["positions"]
    channel.stage(flow.propagate)
    found = health(channel)
    assert messages(found) == {"cap": None, "prop": 0, "app": 2}  # rules of the propagation take no schema changes
    assert clients(found)["app"]["target"] == "site"
    channel.stage(flow.replicate)
    found = health(channel)
    assert messages(found) == {"cap": None, "prop": 0, "app": 0}
    assert {one["trouble"] for one in found["clients"]} == {None}


def test_rows_of_triggers_wait_at_the_source_then_in_windows(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, SYNC, apply("streams_queue"))
    channel.stage(flow.replicate)
    channel.at_source("INSERT INTO hr.t VALUES (2, 2), (3, 3)")
    time.sleep(0.3)
    found = clients(health(channel))
    assert (found["sync"]["messages"], found["sync"]["positions"]) == (2, {"sync": None})
    assert 0 < found["sync"]["lag_seconds"] < 60
    channel.stage(flow.sync_capture)
    found = clients(health(channel))
    assert (found["sync"]["messages"], found["sync"]["positions"]) == (0, {"sync": "window 1"})
    assert (found["app"]["messages"], found["app"]["positions"]) == (2, {"sync": None})
    channel.stage(flow.replicate)
    found = clients(health(channel))
    assert (found["app"]["messages"], found["app"]["positions"]) == (0, {"sync": "window 1"})


def test_a_messaging_client_has_the_messages_that_it_can_take(databases: Any, tmp_path: Path) -> None:
    calls = (ALL, DEQUEUE)
    channel = streams_channel(tmp_path, databases.source, *calls, message_types={"own.note": {"f": "number"}})
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    note = UserMessage("own.note", {"f": Decimal(1)})
    channel.stage(enqueue, [note, note])
    channel.at_source("INSERT INTO hr.t VALUES (2, 2)")
    channel.stage(flow.replicate)
    assert messages(health(channel))["reader"] == 2
    channel.stage(dequeue, "reader", at_most=1)
    assert messages(health(channel))["reader"] == 1


def test_a_client_that_an_error_stops_is_in_trouble_alone(databases: Any, tmp_path: Path) -> None:
    passing = {"add_global_propagation_rules": {**PROPAGATION["add_global_propagation_rules"],
                                                "dml_rule_name": "passing"}}  # fmt: skip
    calls = (ALL, passing, FAILING, apply())
    channel = begun(databases, tmp_path, *calls, functions={"f": "tests.flow.streams.functions:double"})
    channel.change(functions={"f": "tests.flow.streams.functions:raises"})
    channel.at_source("INSERT INTO hr.t VALUES (2, 2)")
    with pytest.raises(RuleError):
        channel.stage(flow.replicate)
    found = clients(health(channel))
    assert (found["cap"]["trouble"], found["app"]["trouble"]) == (None, None)
    trouble = found["prop"]["trouble"]
    assert (trouble["code"], trouble["is_disabled"], found["prop"]["messages"]) == ("RUL-137", True, 1)
    with pytest.raises(RuleError):
        channel.stage(flow.propagate)
    assert clients(health(channel))["prop"]["trouble"]["code"] == "RUL-137"
    channel.change(functions={"f": "tests.flow.streams.functions:double"})
    channel.stage(flow.replicate)
    assert clients(health(channel))["prop"]["trouble"] is None


def test_an_apply_process_that_its_error_queue_stops_is_in_trouble(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, ALL, apply("q1"))
    run(databases.target, "INSERT INTO hr.t VALUES (2, 9)")
    channel.at_source("INSERT INTO hr.t VALUES (2, 2)")
    with pytest.raises(ApplyError):
        channel.stage(flow.replicate)
    found = health(channel)
    assert clients(found)["app"]["trouble"]["code"] == "APL-110" and clients(found)["app"]["trouble"]["is_disabled"]
    assert (found["targets"][0]["waiting"], found["targets"][0]["is_disabled"]) == (1, True)


def test_the_status_tells_of_clients_as_text(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, ALL, PROPAGATION, SYNC, apply())
    channel.at_source("INSERT INTO hr.t VALUES (2, 2)")
    channel.stage(flow.capture)
    lines = channel.stage(flow.status).text().splitlines()
    (passing,) = [
        line for line in lines if line.startswith("propagation prop, from q1 to q2: at its beginning, 1 mess")
    ]
    assert "1 message waits, the oldest for " in passing
    assert [
        line for line in lines if line.startswith("synchronous capture sync, queue streams_queue: at its beginning")
    ]
    assert [line for line in lines if line.startswith("capture process cap, queue q1: at 0/")]


def test_of_very_much_that_waits_a_part_is_counted(
    databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = begun(databases, tmp_path, ALL, apply("q1"))
    for number in (2, 3):
        channel.at_source(f"INSERT INTO hr.t VALUES ({number}, 1)")
        channel.stage(flow.capture)
    monkeypatch.setattr(counting, "MOST_SEGMENTS", 1)
    found = clients(health(channel))["app"]
    assert (found["messages"], found["is_more"]) == (1, True)


def test_what_nobody_can_know_is_said_so(databases: Any, tmp_path: Path) -> None:
    away = {"name": "away", "location": "postgresql://nobody@127.0.0.1:1/nothing", "apply": "app"}
    channel = begun(databases, tmp_path, ALL, apply("q1"))
    channel.change(targets=[away])
    (found,) = [one for one in health(channel)["clients"] if one["kind"] == "apply"]
    assert (found["messages"], found["problem"]) == (None, "its target does not answer")
