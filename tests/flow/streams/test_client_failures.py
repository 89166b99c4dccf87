"""A client of Streams that fails stops itself alone: the others do their work, then the run fails and names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.flow.streams.propagation import propagate
from airflow_ddlrepl.flow.streams.sync_capture import sync_capture
from tests.flow.streams.streams_channel import BATTERY_TABLES, streams_channel
from tests.support.refusing import ask
from tests.support.replica import run

CAPTURE = {"add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1"}}
REFUSED = {"and_condition": ":lcr.get_scn() > 5"}  # a trigger does not know it


def triggers(name: str, table: str, **more: Any) -> dict[str, Any]:
    client = {"streams_type": "sync_capture", "streams_name": name, "queue_name": "q1"}
    return {"add_table_rules": {"table_name": table, **client, **more}}


def passing(name: str, to: str, source: str = "q1") -> dict[str, Any]:
    queues = {"source_queue_name": source, "destination_queue_name": to}
    return {
        "add_table_propagation_rules": {"table_name": "hr.t", "streams_name": name, "dml_rule_name": name, **queues}
    }


def test_synchronous_captures(databases: Any, tmp_path: Path) -> None:
    second = triggers("second", "hr.u")
    channel = streams_channel(tmp_path, databases.source, triggers("first", "hr.t"), second)
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    channel.stage(sync_capture)
    channel.at_source("INSERT INTO hr.t VALUES (1, 1)", "INSERT INTO hr.u VALUES (1, 1)")
    channel.change(calls=[triggers("first", "hr.t", **REFUSED), second])
    with pytest.raises(RuleError, match="synchronous capture first: ") as raised:
        channel.stage(sync_capture)
    assert raised.value.code == "RUL-151"
    assert channel.content("q1") == ["INSERT hr.u {'id': '1', 'k': '1'}"]
    channel.change(calls=[triggers("first", "hr.t"), second])
    assert channel.stage(sync_capture).rows == {"first": 1, "second": 0}


def test_propagations_and_the_clients_behind_them(databases: Any, tmp_path: Path) -> None:
    function = {"set_rule_transform_function": {"rule_name": "first", "transform_function": "f"}}
    calls = [passing("first", "q2"), passing("second", "q3"), passing("third", "q4", "q3"), function]
    applied = {"add_global_rules": {"streams_type": "apply", "streams_name": "app", "queue_name": "q4",
                                    "source_database": "dbs1"}}  # fmt: skip
    target = {"name": "site", "location": databases.target, "apply": "app"}
    channel = streams_channel(
        tmp_path,
        databases.source,
        *(CAPTURE, *calls, applied),
        targets=[target],
        functions={"f": "tests.flow.streams.functions:raises"},
    )
    channel.at_source(*BATTERY_TABLES)
    run(databases.target, *BATTERY_TABLES)
    channel.activate()
    channel.at_source("INSERT INTO hr.t VALUES (1, 1)")
    with pytest.raises(RuleError, match="propagation first: function f failed") as raised:
        channel.stage(flow.replicate)
    assert raised.value.code == "RUL-137"
    assert ask(databases.target, "SELECT id FROM hr.t") == [(1,)]
    assert [len(channel.content(queue)) for queue in ("q1", "q2", "q3", "q4")] == [1, 0, 1, 1]
    channel.change(functions={"f": "tests.flow.streams.functions:double"})
    assert channel.stage(propagate).rows == {"first": 1}
