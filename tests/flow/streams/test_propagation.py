"""A propagation passes on what its rules take, each message once, whatever happens to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.flow.streams.propagation import has_messages, propagate
from tests.flow.streams.streams_channel import (
    BATTERY,
    BATTERY_TABLES,
    EVERYTHING,
    StreamsChannel,
    cells,
    streams_channel,
)
from tests.flow.streams.test_capture_rules import taken

ALL = {"add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1", "include_ddl": True}}
PROPAGATION = {"streams_name": "prop", "source_queue_name": "q1", "destination_queue_name": "q2", "include_ddl": True}


def call(level: str, **more: Any) -> dict[str, Any]:
    about = {"table": {"table_name": "hr.t"}, "schema": {"schema_name": "hr"}, "global": {}}[level]
    return {f"add_{level}_propagation_rules": {**about, **PROPAGATION, **more}}


def begun(channel: StreamsChannel) -> StreamsChannel:
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    return channel


@pytest.mark.parametrize(("calls", "expected"), cells(call, 10))
def test_each_level_passes_on_or_discards_its_changes(
    calls: list[dict[str, Any]], expected: set[str], databases: Any, tmp_path: Path
) -> None:
    channel = begun(streams_channel(tmp_path, databases.source, ALL, *calls))
    channel.at_source(*BATTERY.values())
    channel.stage(flow.capture)
    assert channel.stage(has_messages)
    result = channel.stage(propagate)
    assert taken(channel, "q2") == expected
    assert taken(channel, "q1") == EVERYTHING
    assert sum(result.rows.values()) == len(expected & {"B1", "B2", "B3", "B7"})
    assert not channel.stage(has_messages)
    assert channel.stage(propagate).segments == 0


@pytest.mark.req("ST-T-11")
def test_a_subset_is_passed_on_with_its_rows_migrated(databases: Any, tmp_path: Path) -> None:
    queues = {k: PROPAGATION[k] for k in ("streams_name", "source_queue_name", "destination_queue_name")}
    subset = {"add_subset_propagation_rules": {"table_name": "hr.t", "dml_condition": "k = 1", **queues}}
    channel = begun(streams_channel(tmp_path, databases.source, ALL, subset))
    channel.at_source(
        "INSERT INTO hr.t VALUES (1, 1, 'in'), (2, 2, 'out')",
        "UPDATE hr.t SET k = 1 WHERE id = 2",
        "UPDATE hr.t SET k = 3 WHERE id = 1",
        "UPDATE hr.t SET note = 'still in' WHERE id = 2",
        "DELETE FROM hr.t",
    )
    channel.stage(flow.capture)
    channel.stage(propagate)
    assert [line.partition("{")[0].strip() for line in channel.content("q2")] == [
        "INSERT hr.t", "INSERT hr.t", "DELETE hr.t", "UPDATE hr.t", "DELETE hr.t",
    ]  # fmt: skip


@pytest.mark.req("ST-X-59", "ST-X-60", "ST-X-61")
def test_one_destination_gets_the_transformed_rows_and_another_one_the_original(databases: Any, tmp_path: Path) -> None:
    def to(queue: str, source: str = "q1") -> dict[str, Any]:
        queues = {"source_queue_name": source, "destination_queue_name": queue}
        return {
            "add_table_propagation_rules": {
                "table_name": "hr.t",
                "streams_name": f"to_{queue}",
                **queues,
                "dml_rule_name": f"r_{queue}",
            }
        }

    without_note = {"delete_column": {"rule_name": "r_q2", "table_name": "hr.t", "column_name": "note"}}
    renamed = {"rename_table": {"rule_name": "r_q2", "from_table_name": "hr.t", "to_table_name": "pub.t"}}
    onward = {
        "add_global_propagation_rules": {
            "streams_name": "onward", "source_queue_name": "q2", "destination_queue_name": "q4",
        }
    }  # fmt: skip
    channel = begun(streams_channel(tmp_path, databases.source, ALL, to("q2"), to("q3"), without_note, renamed, onward))
    channel.at_source("INSERT INTO hr.t VALUES (1, 1, 'a private word')")
    channel.stage(flow.capture)
    channel.stage(propagate)
    assert channel.content("q2") == ["INSERT pub.t {'id': 1, 'k': 1}"]
    assert channel.content("q3") == ["INSERT hr.t {'id': 1, 'k': 1, 'note': 'a private word'}"]
    assert channel.content("q4") == channel.content("q2")


def test_a_propagation_that_comes_too_late_says_what_is_lost(databases: Any, tmp_path: Path) -> None:
    channel = begun(streams_channel(tmp_path, databases.source, ALL, call("global")))
    for number in range(3):
        channel.at_source(f"INSERT INTO hr.t VALUES ({number})")
        channel.stage(flow.capture)
        if not number:
            channel.stage(propagate)
    with channel.opened() as context, context.locked():
        low = context.captured()
        context.repository.expire_segments("hr", context.token, low)
    with pytest.raises(TrailError) as error:
        channel.stage(propagate)
    assert error.value.code == "TRL-128"


def test_a_queue_elsewhere_has_the_messages(databases: Any, tmp_path: Path) -> None:
    channel = begun(
        streams_channel(tmp_path, databases.source, ALL, call("table"), queues={"q2": f"file://{tmp_path}/far"})
    )
    channel.at_source("INSERT INTO hr.t VALUES (1, 1, 'one')")
    channel.stage(flow.capture)
    channel.stage(propagate)
    with channel.opened() as context:
        (feed,) = StreamsClients(context).feeds("q2")
    assert feed.trail.place.root.startswith(f"{tmp_path}/far/") and len(channel.content("q2")) == 1
