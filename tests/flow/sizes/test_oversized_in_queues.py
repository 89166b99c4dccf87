"""A change that the server can't send stops no client of Streams: its table is suspended at each apply process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.log.oversized import CODE
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.flow.streams.dequeue import dequeue
from tests.flow.sizes.test_oversized_rows import LARGE, VALUE
from tests.flow.streams.streams_channel import CAPTURE, StreamsChannel, streams_channel
from tests.support.refusing import ask
from tests.support.replica import run

APPLY = {"streams_type": "apply", "streams_name": "app", "source_database": "dbs1"}
TO_Q2 = {"streams_name": "prop", "source_queue_name": "q1", "destination_queue_name": "q2"}
TABLES = (
    "CREATE SCHEMA hr",
    "CREATE TABLE hr.large (id int PRIMARY KEY, a text, b text)",
    "CREATE TABLE hr.other (id int PRIMARY KEY)",
    "INSERT INTO hr.large VALUES (7, 'a', 'b')",
)


def begun(databases: Any, folder: Path, *calls: dict[str, Any], queue: str, **apply: Any) -> StreamsChannel:
    target = {"name": "site", "location": databases.target, "apply": "app"}
    to_apply = {"add_schema_rules": {"schema_name": "hr", **APPLY, "queue_name": queue, **apply}}
    channel = streams_channel(folder, databases.source, *calls, to_apply, targets=[target])
    channel.at_source(*TABLES)
    channel.activate(load=True)
    return channel


def failed(channel: StreamsChannel) -> ApplyError:
    with pytest.raises(ApplyError) as caught:
        channel.stage(flow.replicate)
    return caught.value


def suspended(channel: StreamsChannel) -> list[str]:
    (state,) = channel.stage(flow.status).to_json()["apply"]
    return [text.split(" ")[0] for text in state["suspended"]]


SCHEMA = {"add_schema_rules": {"schema_name": "hr", "include_ddl": True, **CAPTURE}}
ROUTES = {
    "one queue": ([SCHEMA], "q1"),
    "propagated": (
        [SCHEMA, {"add_schema_propagation_rules": {"schema_name": "hr", "include_ddl": True, **TO_Q2}}],
        "q2",
    ),
}


@pytest.mark.parametrize(("calls", "queue"), ROUTES.values(), ids=ROUTES)
def test_the_table_is_suspended_until_it_is_loaded_and_the_others_go_on(
    databases: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, calls: list[Any], queue: str
) -> None:
    channel = begun(databases, tmp_path, *calls, queue=queue, include_ddl=True)
    channel.at_source(
        "ALTER TABLE hr.other ADD COLUMN n int",
        VALUE + "; " + LARGE.replace("large", "hr.large"),
        "INSERT INTO hr.other VALUES (1, 2)",
        "ALTER TABLE hr.large ADD COLUMN c int",
        "DELETE FROM hr.large WHERE id = 1",
        "UPDATE hr.large SET b = 'later', c = 3",
        "ALTER TABLE hr.other DROP COLUMN n",
        "INSERT INTO hr.other VALUES (2)",
    )
    error = failed(channel)
    assert (error.code, error.table, error.target) == ("APL-122", "hr.large", "site")
    assert any(CODE in record.getMessage() and "hr.large" in record.getMessage() for record in caplog.records)
    assert ask(databases.target, "TABLE hr.other ORDER BY 1") == [(1,), (2,)]
    assert ask(databases.target, "TABLE hr.large") == [(7, "a", "b")]
    assert suspended(channel) == ["hr.large"]

    channel.at_source("ALTER TABLE hr.large RENAME TO big", "INSERT INTO hr.big VALUES (8, 'c', 'd', 5)")
    channel.at_source("INSERT INTO hr.other VALUES (3)")
    assert failed(channel).table == "hr.big"
    assert ask(databases.target, "TABLE hr.other ORDER BY 1") == [(1,), (2,), (3,)]

    run(databases.target, "DROP TABLE hr.large")
    channel.activate(load=True)
    channel.at_source("INSERT INTO hr.big VALUES (9, 'e', 'f', 6)")
    channel.stage(flow.replicate)
    assert suspended(channel) == []
    assert ask(databases.target, "TABLE hr.big ORDER BY 1") == ask(databases.source, "TABLE hr.big ORDER BY 1")


def test_a_table_that_is_dropped_suspends_nothing_any_more(databases: Any, tmp_path: Path) -> None:
    to_reader = {"streams_type": "dequeue", "streams_name": "reader", "queue_name": "q1"}
    reader = {"add_schema_rules": {"schema_name": "hr", **to_reader}}
    channel = begun(databases, tmp_path, SCHEMA, reader, queue="q1", include_ddl=True)
    channel.at_source(VALUE + "; " + LARGE.replace("large", "hr.large"), "INSERT INTO hr.other VALUES (1)")
    assert failed(channel).table == "hr.large"
    assert ["messages may be missing" in why for why in channel.stage(dequeue, "reader").discarded] == [True]
    channel.at_source("DROP TABLE hr.large", "INSERT INTO hr.other VALUES (2)")
    channel.stage(flow.replicate)
    assert ask(databases.target, "TABLE hr.other ORDER BY 1") == [(1,), (2,)]
    assert ask(databases.target, "SELECT to_regclass('hr.large')") == [(None,)]


def test_where_any_table_may_have_been_written_those_alone_are_suspended_that_the_client_takes(
    databases: Any, tmp_path: Path
) -> None:
    to_apply = {"add_table_rules": {"table_name": "hr.other", **APPLY, "queue_name": "q1"}}
    target = {"name": "site", "location": databases.target, "apply": "app"}
    channel = streams_channel(tmp_path, databases.source, SCHEMA, to_apply, targets=[target])
    channel.at_source(*TABLES, "CREATE TABLE hr.third (id int PRIMARY KEY)")
    channel.activate(load=True)
    large = LARGE.replace("large", "hr.large")
    channel.at_source(f"{VALUE}; {large}; INSERT INTO hr.third VALUES (1)", "DELETE FROM hr.large")
    assert failed(channel).table == "hr.other"
    assert suspended(channel) == ["hr.other"]
