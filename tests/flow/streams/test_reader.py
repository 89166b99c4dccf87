"""A queue is read transaction by transaction: rows, DDL and truncates of all tables in the order of the source."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.model.position import BEGINNING, LogKey
from airflow_ddlrepl.streams.messages import DdlLcr, RowLcr
from airflow_ddlrepl.streams.queue.reader import Queued, QueueReader
from airflow_ddlrepl.streams.rules.client import ClientKind
from tests.flow.streams.streams_channel import APPLY, BATTERY_TABLES, StreamsChannel, streams_channel

ALL = {"add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1", "include_ddl": True}}


ONE_TRANSACTION = (
    "INSERT INTO hr.t VALUES (1, 1, 'one')",
    "INSERT INTO hr.u VALUES (1, 5)",
    "INSERT INTO oe.o VALUES (1)",
    "UPDATE hr.t SET note = 'two'",
    "ALTER TABLE hr.t ADD price numeric(8, 2)",
    "UPDATE hr.t SET price = 2.50",
)


def read(channel: StreamsChannel, after: LogKey = BEGINNING) -> list[list[Queued]]:
    """What the apply process takes, by transaction."""
    found: list[list[Queued]] = []
    with channel.opened() as context:
        clients = StreamsClients(context)
        (client,) = clients.of_kind(ClientKind.APPLY)
        (feed,) = clients.require_fed(client)
        stage = clients.rules(client).stage(clients.values)
        reader = QueueReader(feed.trail, stage, clients.values, feed.message_class, is_typed=True)
        for segment in feed.segments():
            for transaction in reader.transactions(segment, after):
                found.append([])
                for queued in transaction.messages:
                    found[-1].append(queued)
    return found


def shown(queued: Queued) -> str:
    one = queued.message
    if isinstance(one, RowLcr):
        return f"{one.command} {one.owner}.{one.name} {dict(one.old)} {dict(one.new)}"
    return getattr(one, "text", "") or one.command  # type: ignore[union-attr]


def begun(tmp_path: Path, source: str, **rules: Any) -> StreamsChannel:
    channel = streams_channel(
        tmp_path, source, ALL, {"add_schema_rules": {"schema_name": "hr", **APPLY, "include_ddl": True, **rules}}
    )
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    return channel


def test_changes_of_all_tables_come_in_their_order(databases: Any, tmp_path: Path) -> None:
    channel = begun(tmp_path, databases.source)
    channel.at_source(
        f"DO $$ BEGIN {'; '.join(ONE_TRANSACTION)}; END $$",
        "TRUNCATE hr.u",
        "DELETE FROM hr.t",
    )
    channel.stage(flow.capture)
    found = read(channel)
    assert [[shown(one) for one in transaction] for transaction in found] == [
        [
            "INSERT hr.t {} {'id': '1', 'k': '1', 'note': 'one'}",
            "INSERT hr.u {} {'id': '1', 'k': '5'}",
            "UPDATE hr.t {'id': '1'} {'id': '1', 'k': '1', 'note': 'two'}",
            "ALTER TABLE hr.t ADD price numeric(8, 2)",
            "UPDATE hr.t {'id': '1'} {'id': '1', 'k': '1', 'note': 'two', 'price': '2.50'}",
        ],
        ["TRUNCATE TABLE"],
        ["DELETE hr.t {'id': '1'} {}"],
    ]
    assert found[0][0].typed.new["id"] == 1 and found[0][0].key_columns == ("id",)  # type: ignore[union-attr]
    assert len(read(channel, found[0][3].key)) == 3 and len(read(channel, found[0][-1].key)) == 2


def test_an_error_stands_in_its_place_behind_all_that_comes_before_it(databases: Any, tmp_path: Path) -> None:
    condition = """1 / :lcr.get_value('NEW','"k"').AccessNumber() > 0"""
    channel = begun(tmp_path, databases.source, and_condition=condition, include_ddl=False)
    channel.at_source(*(f"INSERT INTO hr.{'tu'[n % 2]} VALUES ({n}, {int(n != 7)})" for n in range(12)))
    channel.stage(flow.capture)
    found: list[str] = []
    with channel.opened() as context, pytest.raises(RuleError) as error:
        clients = StreamsClients(context)
        (client,) = clients.of_kind(ClientKind.APPLY)
        (feed,) = clients.require_fed(client)
        stage = clients.rules(client).stage(clients.values)
        reader = QueueReader(feed.trail, stage, clients.values, feed.message_class, is_typed=False)
        for segment in feed.segments():
            for transaction in reader.transactions(segment):
                found += [str(one.message.new["id"]) for one in transaction.messages]  # type: ignore[union-attr]
    assert error.value.code == "RUL-118"
    assert found == [str(n) for n in range(7)]


def test_messages_of_applications_come_at_their_places(databases: Any, tmp_path: Path) -> None:
    """Also one in a transaction without a row; values of a row LCR are texts, and typed ones beside them."""
    channel = begun(tmp_path, databases.source)
    message = {"object": "hr.t", "command": "INSERT", "new": {"id": 9, "k": 1.5}, "source_database": "dbs1"}
    emit = f"SELECT ddlrepl.enqueue('{json.dumps(message)}')"
    channel.at_source("INSERT INTO hr.t VALUES (1, 1, 'one')", emit, "INSERT INTO hr.t VALUES (2, 2, 'two')")
    channel.stage(flow.capture)
    found = [one for (one,) in read(channel)]
    ids = [one.message.new["id"] for one in found if isinstance(one.message, RowLcr)]
    assert ids == ["1", "9", "2"]
    assert (found[1].message.new, found[1].typed.new) == (  # type: ignore[union-attr]
        {"id": "9", "k": "1.5"},
        {"id": Decimal(9), "k": Decimal("1.5")},
    )


def test_a_ddl_lcr_has_its_session_s_role_and_tag(databases: Any, tmp_path: Path) -> None:
    channel = begun(tmp_path, databases.source, include_tagged_lcr=True)
    text = channel.file.read_text()
    channel.file.write_text(text.replace("streams_name: cap\n", "streams_name: cap\n      include_tagged_lcr: true\n"))
    channel.at_source("SET ddlrepl.tag = '1d'; ALTER TABLE hr.t ADD x int")
    channel.stage(flow.capture)
    ((found,),) = read(channel)
    assert isinstance(found.message, DdlLcr)
    assert (found.message.tag, found.message.logon_user) == (b"1d", "postgres")
