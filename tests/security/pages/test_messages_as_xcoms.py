"""What applications put into a queue is data as an XCom of Airflow, and no message stops those behind it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from airflow.sdk.serde import deserialize, serialize

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.operators.streams.messages import DequeueOperator
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.messages import UserMessage
from airflow_ddlrepl.streams.rules.written_messages import message_of
from tests.conftest import Databases
from tests.flow.streams.messaging import channel, message_rule, put
from tests.flow.streams.streams_channel import StreamsChannel

RESERVED = ("__classname__", "__id__", "__data__", "__version__", "__type", "__var", "__source", "__cache__")
"""With these names Airflow refuses a value, or makes an object of a class that the value names."""


class Stored:
    """Stands in for a task: an XCom goes through Airflow's own reading and writing."""

    def __init__(self) -> None:
        self.value: Any = None

    def xcom_push(self, key: str, value: Any) -> None:
        self.value = deserialize(json.loads(json.dumps(serialize(value), allow_nan=False).encode()))


def taken(found: StreamsChannel) -> list[Any]:
    """What a task gets, and what another one reads of it."""
    stored = Stored()
    task = DequeueOperator(task_id="take", channel=str(found.file), client="client")
    given = task.execute({"run_id": "by hand", "ti": stored})  # type: ignore[typeddict-item]
    assert stored.value == given
    return list(given)


def enqueue_by_sql(databases: Databases, *messages: str) -> None:
    """As an application does that may enqueue: nobody looks at the message before it is in the log."""
    with psycopg.connect(databases.source, autocommit=True) as connection:
        for message in messages:
            connection.execute("SELECT ddlrepl.enqueue(%s)", (message,))


@pytest.fixture
def found(databases: Databases, tmp_path: Path) -> StreamsChannel:
    return channel(tmp_path, databases.source, message_rule("client", ":msg.f = 1"))


def test_names_that_airflow_reserves_are_names(databases: Databases, found: StreamsChannel) -> None:
    hostile = {"__type": "airflow.sdk.Connection", "__var": {"raw": "00"}} | dict.fromkeys(RESERVED, "x")
    enqueue_by_sql(databases, json.dumps({"type": "own.m", "fields": {"f": 1, **hostile}}))
    put(found, {"type": "own.m", "fields": {"f": 1}})
    first, second = taken(found)
    assert second == {"type": "own.m", "fields": {"f": 1}}
    assert {f'"{name}"' for name in RESERVED} <= first["fields"].keys() and not set(RESERVED) & first["fields"].keys()
    message = message_of(first, NameCase.LOWER)
    assert isinstance(message, UserMessage) and set(message.fields) == {"f", *RESERVED}


@pytest.mark.parametrize("text", [r"\ud800", r"\u0000"])
def test_no_message_has_a_text_that_no_database_holds(databases: Databases, found: StreamsChannel, text: str) -> None:
    """JSON can hold a NUL or half of a character; neither an XCom nor a table can. The server refuses the message."""
    for message in (
        f'{{"type": "own.m", "fields": {{"f": 1, "g": "{text}"}}}}',
        f'{{"type": "own.m", "fields": {{"f": 1, "g{text}": 1}}}}',
        f'{{"object": "hr.t{text}", "command": "INSERT", "new": {{"k": 1}}}}',
    ):
        with pytest.raises(psycopg.DataError):
            enqueue_by_sql(databases, message)
    put(found, {"type": "own.m", "fields": {"f": 1}})
    assert taken(found) == [{"type": "own.m", "fields": {"f": 1}}]


def test_a_message_that_no_database_holds_is_refused_by_whoever_sends_it(found: StreamsChannel) -> None:
    for wrong in ("\ud800", "a\0"):
        with pytest.raises(RuleError, match=r"RUL-126: .*a text has"):
            put(found, {"type": "own.m", "fields": {"f": wrong}})
    with pytest.raises(RuleError, match=r"RUL-126: .*no extra attribute '__classname__'"):
        put(found, {"object": "hr.t", "command": "INSERT", "new": {"k": 1}, "extra": {"__classname__": "x"}})
