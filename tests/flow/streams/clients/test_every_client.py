"""All five kinds of clients run in one channel; each takes what its own rules take of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.streams.messages import RowLcr
from tests.flow.streams.messaging import take
from tests.flow.streams.streams_channel import StreamsChannel, streams_channel
from tests.support.refusing import ask
from tests.support.replica import run

CLIENTS = {
    "capture": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1"},
    "propagation": {"streams_name": "prop", "source_queue_name": "q1", "destination_queue_name": "q2"},
    "apply": {"streams_type": "apply", "streams_name": "app", "queue_name": "q1", "source_database": "dbs1"},
    "sync_capture": {"streams_type": "sync_capture", "streams_name": "sync", "queue_name": "q3"},
    "dequeue": {"streams_type": "dequeue", "streams_name": "deq", "queue_name": "q3", "source_database": "dbs1"},
}
LOGGED, BY_TRIGGERS = ("capture", "propagation", "apply"), ("sync_capture", "dequeue")
"""Which clients work on the same changes."""
TABLES = ("CREATE SCHEMA hr", *(f"CREATE TABLE hr.of_{one} (id int PRIMARY KEY, k int)" for one in CLIENTS))


def call(client: str, level: str, **more: Any) -> dict[str, Any]:
    procedure = f"add_{level}_propagation_rules" if client == "propagation" else f"add_{level}_rules"
    return {procedure: {**CLIENTS[client], **more}}


def whole(client: str, table: str) -> dict[str, Any]:
    return call(client, "table", table_name=f"hr.of_{table}", include_tagged_lcr=True)


def begun(databases: Any, tmp_path: Path, own: dict[str, dict[str, Any]], *others: dict[str, Any]) -> StreamsChannel:
    """A channel whose clients take all changes but those of their own table: of that what `own` says."""
    calls = [
        own[client] if client == table and client in own else whole(client, table)
        for group in (LOGGED, BY_TRIGGERS)
        for client in group
        for table in group
    ]
    target = {"name": "site", "location": databases.target, "apply": "app"}
    channel = streams_channel(tmp_path, databases.source, *calls, *others, targets=[target])
    for place in (databases.source, databases.target):
        run(place, *TABLES)
    channel.activate()
    return channel


def taken(channel: StreamsChannel, target: str) -> dict[str, list[str]]:
    """What each client has taken of its own table, such as `INSERT 1`; of the apply process, the ids at the target."""

    def in_queue(queue: str, client: str) -> list[str]:
        lines = [line for line in channel.content(queue) if f" hr.of_{client} " in line]
        ids = [line.split("'id': ")[1].strip("'")[0] for line in lines]
        return [f"{line.split()[0]} {i}" for line, i in zip(lines, ids, strict=True)]

    messages = [one for one in take(channel, "deq").messages if isinstance(one, RowLcr) and one.name == "of_dequeue"]
    return {
        "capture": in_queue("q1", "capture"),
        "propagation": in_queue("q2", "propagation"),
        "apply": [f"row {row[0]}" for row in ask(target, "SELECT id FROM hr.of_apply ORDER BY 1")],
        "sync_capture": in_queue("q3", "sync_capture"),
        "dequeue": [f"{one.command} {(one.new or one.old)['id']}" for one in messages],
    }


@pytest.mark.req("ST-U-04", "ST-R-01", "ST-U-01", "ST-U-14", "ST-U-20", "ST-U-28", "ST-U-29")
@pytest.mark.req("ST-U-08", "ST-U-09", "ST-U-13", "ST-U-26", "ST-U-27")
def test_each_kind_of_client_takes_a_subset_of_rows(databases: Any, tmp_path: Path) -> None:
    own = {client: call(client, "subset", table_name=f"hr.of_{client}", dml_condition="k = 50") for client in CLIENTS}
    channel = begun(databases, tmp_path, own)
    for client in CLIENTS:
        channel.at_source(
            f"INSERT INTO hr.of_{client} VALUES (1, 50), (2, 80), (3, 80)",
            f"UPDATE hr.of_{client} SET k = 50 WHERE id = 1",
            f"UPDATE hr.of_{client} SET k = 50 WHERE id = 2",
            f"UPDATE hr.of_{client} SET k = 20 WHERE id = 1",
        )
    channel.stage(flow.replicate)
    migrated = ["INSERT 1", "UPDATE 1", "INSERT 2", "DELETE 1"]
    assert taken(channel, databases.target) == dict.fromkeys(CLIENTS, migrated) | {"apply": ["row 2"]}


@pytest.mark.req("ST-N-01", "ST-R-07")
def test_four_kinds_of_clients_discard_what_a_negative_rule_is_true_for(databases: Any, tmp_path: Path) -> None:
    """The positive rule set takes both changes; the negative one discards one of them."""
    first = ":lcr.get_value('NEW','\"id\"').AccessNumber() = 1"
    negative = [
        call(client, "table", table_name=f"hr.of_{client}", inclusion_rule=False, and_condition=first)
        for client in ("capture", "propagation", "apply", "dequeue")
    ]
    channel = begun(databases, tmp_path, {}, *negative)
    channel.at_source(*(f"INSERT INTO hr.of_{client} VALUES ({i}, 50)" for client in CLIENTS for i in (1, 2)))
    channel.stage(flow.replicate)
    left = {client: ["INSERT 2"] for client in CLIENTS}
    both = {"sync_capture": ["INSERT 1", "INSERT 2"], "apply": ["row 2"]}
    assert taken(channel, databases.target) == {**left, **both}


@pytest.mark.req("ST-S-56", "ST-S-61")
def test_each_kind_of_client_leaves_changes_with_a_tag(databases: Any, tmp_path: Path) -> None:
    """Changes of a session with a replication origin have a tag, in the log and for triggers."""
    own = {client: call(client, "table", table_name=f"hr.of_{client}") for client in CLIENTS}
    channel = begun(databases, tmp_path, own)
    with psycopg.connect(channel.source, autocommit=True) as connection:
        origin = f"origin of {connection.info.dbname}"
        connection.execute("SELECT pg_replication_origin_create(%s)", [origin])
        connection.execute("SELECT pg_replication_origin_session_setup(%s)", [origin])
        for client in CLIENTS:
            connection.execute(f"INSERT INTO hr.of_{client} VALUES (1, 50)".encode())
        connection.execute("SELECT pg_replication_origin_session_reset()")
        for client in CLIENTS:
            connection.execute(f"INSERT INTO hr.of_{client} VALUES (2, 50)".encode())
    channel.stage(flow.replicate)
    untagged = {client: ["INSERT 2"] for client in CLIENTS}
    assert taken(channel, databases.target) == {**untagged, "apply": ["row 2"]}
    assert len([line for line in channel.content("q1") if " hr.of_apply " in line]) == 2
    run(channel.source, f"SELECT pg_replication_origin_drop('{origin}')")
