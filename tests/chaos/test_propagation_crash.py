"""Propagations are killed at every fail point and at random moments: each message arrives once, as the rules leave it.

DDLREPL_CHAOS_FROM chooses the seed, DDLREPL_CHAOS_LIVES how many times it is killed.
"""

from __future__ import annotations

import os
import random
from ast import literal_eval
from pathlib import Path
from typing import Any

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.flow.streams.propagation import propagate
from airflow_ddlrepl.model.position import Position
from tests.flow.streams.streams_channel import BATTERY_TABLES, StreamsChannel, feed_content, streams_channel
from tests.support.crashing import die, kill_at_random

SEED = int(os.environ.get("DDLREPL_CHAOS_FROM", "1"))
KILLS = int(os.environ.get("DDLREPL_CHAOS_LIVES", "8"))
CAPTURE = {
    "add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1", "include_ddl": True}
}
QUEUES = {"streams_name": "p", "source_queue_name": "q1", "destination_queue_name": "q2", "include_ddl": True}
RULES = (
    CAPTURE,
    {"add_table_propagation_rules": {"table_name": "hr.t", "dml_rule_name": "r", **QUEUES,
                                     "and_condition": ":lcr.get_command_type() <> 'UPDATE'"}},
    {"rename_table": {"rule_name": "r", "from_table_name": "hr.t", "to_table_name": "pub.t"}},
    {"delete_column": {"rule_name": "r", "table_name": "hr.t", "column_name": "note"}},
    {"add_table_propagation_rules": {"table_name": "hr.u", "dml_rule_name": "f", **QUEUES}},
    {"set_rule_transform_function": {"rule_name": "f", "transform_function": "f"}},
    {"add_global_propagation_rules": {**QUEUES, "streams_name": "onward", "source_queue_name": "q2",
                                      "destination_queue_name": "q3"}},
)  # fmt: skip
FUNCTIONS = {"f": "tests.flow.streams.functions:double"}


def work(number: int) -> list[str]:
    """Rows of three tables, DDL between them."""
    first = number * 1000
    return [
        f"INSERT INTO hr.t SELECT i, i % 10, 'note ' || i FROM generate_series({first}, {first + 99}) i",
        f"INSERT INTO hr.u SELECT i, i FROM generate_series({first}, {first + 49}) i",
        f"INSERT INTO oe.o VALUES ({first}, 1)",
        f"UPDATE hr.t SET k = k + 1 WHERE id % 3 = 0 AND id >= {first}",
        f"ALTER TABLE hr.t ADD x{number} int, ALTER note SET DEFAULT 'n'",
        f"DELETE FROM hr.t WHERE id = {first + 1}",
    ]


def expected(lines: list[str]) -> list[str]:
    """What the rules leave of the source queue, by hand."""
    found = []
    for line in lines:
        command, _, rest = line.partition(" ")
        if command == "ALTER":
            found.append(line.replace("hr.t", "pub.t").replace(", ALTER note SET DEFAULT 'n'", ""))
            continue
        table, _, text = rest.partition(" ")
        values = literal_eval(text)
        if table == "hr.t" and command != "UPDATE":
            values.pop("note")
            found.append(f"{command} pub.t {values}")
        elif table == "hr.u":
            found.append(f"{command} hr.u {{'id': '{values['id']}', 'k': '{values['k'] * 2}'}}")
    return found


def made_good(channel: StreamsChannel, after: Position | None) -> Position | None:
    """Propagate; what is new since a position is in all queues, and nothing else is there. Return the new position."""
    channel.stage(propagate)
    with channel.opened() as context:
        clients = StreamsClients(context)
        first, second, third = (feed for queue in ("q1", "q2", "q3") for feed in clients.feeds(queue))
        wanted = expected(feed_content(first, after))
        assert feed_content(second, after) == wanted and feed_content(third, after) == wanted
        for feed in (second, third):
            assert feed.starts() == first.starts()
            segments = feed.trail.segments(feed.epoch)
            named = {blob.path for one in segments for part in one.parts for blob in part.blobs()}
            left = {path for path in feed.trail.place.walk() if path.endswith((".parquet", ".jsonl", ".arrows"))}
            assert left == named, "files that no manifest names are left"
        return first.end()


def test_each_message_arrives_once_whenever_a_propagation_is_killed(databases: Any, tmp_path: Path) -> None:
    channel = streams_channel(tmp_path, databases.source, *RULES, functions=FUNCTIONS)
    channel.at_source(*BATTERY_TABLES, "ALTER TABLE hr.t REPLICA IDENTITY FULL")
    channel.activate()
    number, after = 0, None

    def more() -> None:
        nonlocal number
        for _ in range(2):
            number += 1
            channel.at_source(*work(number))
            channel.stage(flow.capture)

    for point in ("propagate.files", "propagate.manifest", "capture.rows", "propagate.files:3", "propagate.manifest:3"):
        more()
        die("propagate", channel.file, point)
        after = made_good(channel, after)

    def good() -> None:
        nonlocal after
        after = made_good(channel, after)

    runs = kill_at_random("propagate", channel.file, random.Random(SEED), KILLS, more, good)
    made_good(channel, None)
    print(f"seed {SEED}: {KILLS} of {runs} runs were killed")
