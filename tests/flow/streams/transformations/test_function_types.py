"""What functions leave as it is stays exactly as the server wrote it, of every type that a server has."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.flow.streams.propagation import EVERYTHING, propagate
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.ports.row_layout import Layout
from airflow_ddlrepl.streams.queue.lcr_batch import LcrBatch
from airflow_ddlrepl.streams.queue.row_messages import batch_of_texts
from tests.flow.refresh.test_random_types import fitting
from tests.flow.streams.streams_channel import StreamsChannel, streams_channel
from tests.postgres.log.test_capture_range_types import has_xml
from tests.support.builtin_types import find

CAPTURE = {"add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1"}}
FUNCTIONS = {name: f"tests.flow.streams.functions:{name}" for name in ("same", "same_batch", "marked", "marked_batch")}


def passed_on(queue: str, function: str = "") -> list[dict[str, Any]]:
    queues = {"source_queue_name": "q1", "destination_queue_name": queue, "streams_name": f"to_{queue}"}
    rules = {"add_global_propagation_rules": {**queues, "dml_rule_name": queue}}
    called = {"set_rule_transform_function": {"rule_name": queue, "transform_function": function}}
    return [rules, called] if function else [rules]


def test_every_type_of_the_server(databases: Any, tmp_path: Path) -> None:
    with psycopg.connect(databases.source) as connection:
        kinds = fitting(find(connection, 18), "text", has_xml(connection))
    columns = ", ".join(f"c{number} {kind.spelled}" for number, kind in enumerate(kinds))
    dice = random.Random(7)
    queues = {"plain": "", "row": "same", "batch": "same_batch", "marked_row": "marked", "marked": "marked_batch"}
    calls = [CAPTURE, *(one for queue, name in queues.items() for one in passed_on(queue, name))]
    channel = streams_channel(tmp_path, databases.source, *calls, functions=FUNCTIONS)
    table = f"CREATE TABLE hr.t (id int PRIMARY KEY, mark text, {columns})"
    channel.at_source("CREATE SCHEMA hr", table, "ALTER TABLE hr.t REPLICA IDENTITY FULL")
    channel.activate()
    insert = f"INSERT INTO hr.t VALUES (%s, '-', {', '.join(f'%s::{kind.spelled}' for kind in kinds)})"
    with psycopg.connect(databases.source) as connection:
        for number in range(12):
            values = [None if dice.random() < 0.2 else kind.make(dice) for kind in kinds]
            connection.execute(insert.encode(), [number, *values])
        connection.execute("UPDATE hr.t SET id = id + 100 WHERE id % 3 = 0")
        connection.execute("DELETE FROM hr.t WHERE id % 2 = 1")
    channel.stage(flow.capture)
    channel.stage(propagate)
    plain = rows(channel, "plain")
    assert len(plain) == 22
    assert rows(channel, "row") == rows(channel, "batch") == plain
    expected = [one if one["op"] == Op.DELETE else {**one, "a_mark": "x"} for one in plain]
    assert rows(channel, "marked_row") == rows(channel, "marked") == expected


def rows(channel: StreamsChannel, queue: str) -> list[dict[str, Any]]:
    """The rows of a queue with all their values as texts."""
    found = []
    with channel.opened() as context:
        clients = StreamsClients(context)
        for feed in clients.feeds(queue):
            for file in (file for segment in feed.trail.segments(feed.epoch) for file in segment.files()):
                layout = Layout(file.table_id, file.schema, file.name, file.identity, file.columns, file.shape)
                for batch in feed.trail.batches(file, *EVERYTHING):
                    found += (
                        batch_of_texts(LcrBatch(layout, batch), clients.values).rows.drop_columns("absent").to_pylist()
                    )
    return sorted(found, key=lambda row: (row["lsn"], row["seq"]))


@pytest.mark.parametrize("function", ["same", "same_batch"])
def test_values_that_python_does_not_have_stay_texts(function: str, databases: Any, tmp_path: Path) -> None:
    calls = [CAPTURE, *passed_on("plain"), *passed_on("q2", function)]
    channel = streams_channel(tmp_path, databases.source, *calls, functions=FUNCTIONS)
    channel.at_source("CREATE SCHEMA hr", "CREATE TABLE hr.t (id int PRIMARY KEY, at timestamp, day date, n numeric)")
    channel.activate()
    channel.at_source(
        "INSERT INTO hr.t VALUES (1, 'infinity', '4713-01-01 BC', 'NaN'), (2, '2024-01-31 10:00', 'today', 1.50)"
    )
    channel.stage(flow.capture)
    channel.stage(propagate)
    same = [{name: row[name] for name in ("a_id", "a_at", "a_day", "a_n")} for row in rows(channel, "q2")]
    assert same == [{name: row[name] for name in same[0]} for row in rows(channel, "plain")]
