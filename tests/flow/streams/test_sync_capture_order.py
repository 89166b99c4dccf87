"""What triggers capture of sessions side by side can be done again one by one, and comes to the same rows."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.flow.streams.propagation import propagate
from airflow_ddlrepl.flow.streams.sync_capture import sync_capture
from airflow_ddlrepl.streams.messages import Command, MessageClass, RowLcr
from airflow_ddlrepl.streams.queue.reader import QueueReader
from airflow_ddlrepl.streams.rules.client import ClientKind
from tests.conftest import Databases
from tests.flow.streams.streams_channel import BATTERY_TABLES, streams_channel
from tests.flow.streams.sync_capturing import Capturing, rule

SESSIONS, TRANSACTIONS, KEYS = 4, 60, 12


def work(dsn: str, seed: int, is_enough: threading.Event) -> None:
    """Random transactions until it is enough: some are rolled back, or a savepoint is, some are prepared first."""
    chance = random.Random(seed)
    with psycopg.connect(dsn, autocommit=True) as connection:
        for number in count():
            if number >= TRANSACTIONS and is_enough.is_set():
                break
            name = f"order_{dsn[-8:]}_{seed}_{number}"
            try:
                connection.execute("BEGIN")
                for _ in range(chance.randint(1, 4)):
                    one_change(connection, chance)
                how = chance.choice(("COMMIT", "COMMIT", "COMMIT", "ROLLBACK", "PREPARE"))
                if how == "PREPARE":
                    connection.execute(f"PREPARE TRANSACTION '{name}'".encode())
                    connection.execute(f"{chance.choice(('COMMIT', 'ROLLBACK'))} PREPARED '{name}'".encode())
                else:
                    connection.execute(how.encode())
            except psycopg.errors.DeadlockDetected:
                connection.execute("ROLLBACK")


def one_change(connection: psycopg.Connection[Any], chance: random.Random) -> None:
    k, v = chance.randint(1, KEYS), chance.randint(1, 99)
    statement = chance.choice(
        (
            f"INSERT INTO hr.t VALUES ({k}, {v}) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
            f"UPDATE hr.t SET v = {v} WHERE k BETWEEN {k} AND {k + 2}",
            f"DELETE FROM hr.t WHERE k = {k}",
        )
    )
    if chance.random() < 0.2:
        connection.execute("SAVEPOINT s")
        connection.execute(statement.encode())
        connection.execute("ROLLBACK TO SAVEPOINT s")
    connection.execute(statement.encode())


@pytest.mark.parametrize("seed", [1, 2])
def test_the_changes_of_sessions_side_by_side_are_in_order_and_once(
    databases: Databases, tmp_path: Path, seed: int
) -> None:
    captures = Capturing(databases.source, tmp_path, [rule()])
    captures.at_source("CREATE SCHEMA hr", "CREATE TABLE hr.t (k int PRIMARY KEY, v int)")
    captures.capture()
    is_enough = threading.Event()
    with ThreadPoolExecutor(SESSIONS) as pool:
        sessions = [pool.submit(work, captures.source, seed * 10 + one, is_enough) for one in range(SESSIONS)]
        try:
            for point in ("sync_capture.files", "sync_capture.manifest", "sync_capture.window"):
                captures.capture()
                captures.at_source("INSERT INTO hr.t VALUES (100, 0)", "DELETE FROM hr.t WHERE k = 100")
                captures.dies(point)
        finally:
            is_enough.set()
    for session in sessions:
        session.result()
    captures.capture()
    rows: dict[Any, Any] = {}
    for lcr in captures.lcrs():
        do_again(lcr, rows)
    assert rows == {str(k): {"k": str(k), "v": str(v)} for k, v in captures.rows("SELECT k, v FROM hr.t")}


def do_again(lcr: RowLcr, rows: dict[Any, Any]) -> None:
    """Do a change to rows; it has to find what it was made to."""
    if lcr.command is not Command.INSERT:
        assert rows.pop(lcr.old["k"]) == lcr.old
    if lcr.command is not Command.DELETE:
        assert lcr.new["k"] not in rows
        rows[lcr.new["k"]] = dict(lcr.new)


def test_the_queue_of_a_synchronous_capture_is_propagated_and_read_as_any_other(
    databases: Databases, tmp_path: Path
) -> None:
    to = {"source_queue_name": "q1", "destination_queue_name": "q2", "streams_name": "prop", "include_dml": True}
    sync = {"streams_type": "sync_capture", "streams_name": "sync", "queue_name": "q1", "dml_rule_name": "s"}
    apply = {"streams_type": "apply", "streams_name": "app", "queue_name": "q2", "source_database": "dbs1"}
    channel = streams_channel(
        tmp_path,
        databases.source,
        {"add_table_rules": {"table_name": "hr.t", **sync}},
        {"add_table_rules": {"table_name": "hr.u", **sync, "dml_rule_name": "s2"}},
        {"rename_column": {"rule_name": "s", "table_name": "hr.t", "from_column_name": "id", "to_column_name": "no"}},
        {"add_column": {"rule_name": "s", "table_name": "hr.t", "column_name": "site", "column_value": 7}},
        {"add_schema_propagation_rules": {"schema_name": "hr", **to, "source_database": "dbs1"}},
        {
            "add_subset_rules": {
                "table_name": "hr.t", **apply, "dml_condition": "k >= 1 AND no < 9"
            }
        },
        {"add_table_rules": {"table_name": "hr.u", **apply}},
    )  # fmt: skip
    channel.at_source(*BATTERY_TABLES)
    channel.stage(sync_capture)
    channel.at_source(
        "INSERT INTO hr.t VALUES (1, 1, 'a'); INSERT INTO hr.u VALUES (1, 2); UPDATE hr.t SET k = 2;"
        "INSERT INTO hr.t VALUES (9, 1, 'out'); UPDATE hr.t SET k = 0; DELETE FROM hr.u",
    )
    channel.stage(sync_capture)
    channel.stage(propagate)
    found = []
    with channel.opened() as context:
        clients = StreamsClients(context)
        (client,) = clients.of_kind(ClientKind.APPLY)
        (feed,) = clients.require_fed(client)
        assert feed.message_class is MessageClass.PERSISTENT
        stage = clients.rules(client).stage(clients.values)
        reader = QueueReader(feed.trail, stage, clients.values, feed.message_class, is_typed=True)
        for segment in feed.segments():
            for transaction in reader.transactions(segment):
                for queued in transaction.messages:
                    assert isinstance(queued.message, RowLcr)
                    one = queued.message
                    found.append((one.command.value, one.name, dict(one.new or one.old), queued.key_columns))
    assert found == [
        ("INSERT", "t", {"no": "1", "k": "1", "note": "a", "site": "7"}, ("no",)),
        ("INSERT", "u", {"id": "1", "k": "2"}, ("id",)),
        ("UPDATE", "t", {"no": "1", "k": "2", "note": "a", "site": "7"}, ("no",)),
        ("DELETE", "t", {"no": "1", "k": "2", "note": "a"}, ("no",)),
        ("DELETE", "u", {"id": "1", "k": "2"}, ("id",)),
    ]
