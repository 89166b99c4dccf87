"""Anybody may write many or large messages into the log, also under our prefixes; no cycle is drowned by them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from airflow_ddlrepl.engines.postgres.pgoutput import control_messages, decoder, gaps
from airflow_ddlrepl.engines.postgres.pgoutput.control_messages import LogicalMessage, logical_message
from airflow_ddlrepl.model.change import Event, EventKind
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file

JUNK = "SELECT count(pg_logical_emit_message({transactional}, '{prefix}', {content})) FROM generate_series(1, {count})"


@pytest.fixture
def replica(databases: Databases, tmp_path: Path) -> Iterator[Replica]:
    found = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    found.at_source("CREATE TABLE t (id int PRIMARY KEY)")
    found.begin()
    yield found


@pytest.fixture
def stranger(databases: Databases) -> str:
    """A role with CONNECT alone."""
    database = databases.source.rsplit("/", 1)[1]
    name = f"stranger_{database}"
    databases.server.create_role(name)
    return str(databases.server.dsn(database, name))


def write(dsn: str, prefix: str, content: str, count: int = 1, transactional: str = "true") -> None:
    with psycopg.connect(dsn) as connection:
        text = JUNK.format(prefix=prefix, content=content, count=count, transactional=transactional)
        connection.execute(text.encode())


def events(replica: Replica) -> list[Event]:
    """All control records of the trail."""
    lines = [line for file in replica.file.parent.rglob("*.jsonl") for line in file.read_text().splitlines()]
    return [Event.from_json(json.loads(line)) for line in lines]


def counting(monkeypatch: pytest.MonkeyPatch) -> list[LogicalMessage]:
    """The messages that are read one by one."""
    read: list[LogicalMessage] = []

    def counted(message: bytes) -> LogicalMessage:
        read.append(logical_message(message))
        return read[-1]

    monkeypatch.setattr(control_messages, "logical_message", counted)
    return read


def limit(replica: Replica, **limits: Any) -> None:
    data = yaml.safe_load(replica.file.read_text())
    replica.file.write_text(yaml.safe_dump({**data, "limits": limits}))


PREFIXES = ["app", "ddlrepl2", "ddlrepl.heartbeat", "", "d", "ddlrepl.messag"]


def test_messages_that_no_client_takes_are_not_read(
    replica: Replica, stranger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = counting(monkeypatch)
    for prefix in PREFIXES:
        write(stranger, prefix, "repeat('x', generate_series)", 3000)
        write(stranger, prefix, "repeat('x', generate_series)", 300, transactional="false")
    assert replica.capture().segments == 0
    replica.at_source("INSERT INTO t VALUES (1)")
    for prefix in PREFIXES:
        write(stranger, prefix, "repeat('x', 30 * generate_series)", 3000)
    replica.settle()
    assert read == []
    assert events(replica) == []


def test_unsigned_messages_of_one_transaction_are_one_gap(replica: Replica, stranger: str) -> None:
    replica.at_source("INSERT INTO t VALUES (1)")
    write(stranger, "ddlrepl", '\'{"v": 1, "kind": "gap", "statement": "nothing"}\'', 5000)
    write(stranger, "ddlrepl", "repeat('x', 100000)", 20)
    replica.settle()
    found = [event for event in events(replica) if event.kind is EventKind.GAP]
    assert [event.statement for event in found] == ["nothing", "100000 bytes that ddlrepl has not signed"]


def test_of_many_transactions_with_unsigned_messages_most_share_one_gap(replica: Replica, stranger: str) -> None:
    limit(replica, gaps=3)
    with psycopg.connect(stranger, autocommit=True) as connection:
        for _ in range(10):
            connection.execute("SELECT pg_logical_emit_message(true, 'ddlrepl', 'forged')")
    replica.at_source("ALTER TABLE t ADD COLUMN note text")
    replica.settle()
    found = [event for event in events(replica) if event.kind is EventKind.GAP]
    assert len(found) == 4
    assert found[-1].statement == "messages that ddlrepl has not signed in 7 more transactions"


def test_a_large_message_stays_at_the_server(replica: Replica, stranger: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    feed = decoder.Decoder.feed

    def counted(self: decoder.Decoder, array: Any) -> Any:
        sizes.append(array.nbytes)
        return feed(self, array)

    monkeypatch.setattr(decoder.Decoder, "feed", counted)
    replica.at_source("INSERT INTO t VALUES (1)")
    write(stranger, "app", "repeat('x', 20000000)")
    write(stranger, "app", "repeat('x', 20000000)", transactional="false")
    replica.settle()
    assert 0 < sum(sizes) < 100_000


def test_a_record_larger_than_any_of_ours_stays_at_the_server_and_is_a_gap(replica: Replica, stranger: str) -> None:
    limit(replica, message_bytes="1MB")
    replica.at_source("INSERT INTO t VALUES (1)")
    for prefix in ("ddlrepl", "ddlrepl.message", "ddlrepl.role", "ddlrepl.session"):
        write(stranger, prefix, "repeat('x', 2000000)")
    replica.settle()
    found = [event for event in events(replica) if event.kind is EventKind.GAP]
    assert len(found) == 1 and "can't be read" in str(found[0].statement)


def test_the_protocol_cuts_messages_as_the_server_does(replica: Replica, stranger: str) -> None:
    sizes = [10, gaps.LARGE_MESSAGE + 1]
    for prefix in ("app", "ddlrepl", "ddlrepl.role", ""):
        for size in sizes:
            write(stranger, prefix, f"repeat('x', {size})")
    with psycopg.connect(replica.source) as connection:
        found = connection.execute(
            f"SELECT data, {gaps.without_large('data')} FROM pg_logical_slot_peek_binary_changes('ddlrepl_shop', NULL,"
            " NULL, 'proto_version', '1', 'publication_names', 'ddlrepl_shop', 'messages', 'true')".encode()
        ).fetchall()
    assert len([data for data, _ in found if data[:1] == b"M"]) == 8
    assert [gaps.cut(data) for data, _ in found] == [cut for _, cut in found]
