"""Messages in the log: how one is written into it, and read from it."""

from __future__ import annotations

import base64
import json

import pytest

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.streams.messages import Command, Message, MessageClass, RowLcr, UserMessage
from airflow_ddlrepl.streams.queue.messages import is_message, message_in, payload_of, with_message
from airflow_ddlrepl.streams.rules.written_messages import PREFIX


def event(payload: str, prefix: str = PREFIX) -> Event:
    encoded = base64.b64encode(payload.encode()).decode()
    return Event(EventKind.MESSAGE, LogKey(5, 1), 7, 10, prefix=prefix, payload=encoded)


@pytest.mark.parametrize(
    "message",
    [
        UserMessage("own.m", {"text": "Grüße\n\x1f", "n": None}),
        RowLcr("hr", "t", command=Command.DELETE, old={"K": "1"}, message_class=MessageClass.PERSISTENT),
    ],
)
def test_a_message_goes_through_the_log(message: Message) -> None:
    payload = payload_of(message)
    assert payload.isascii()
    assert message_in(event(payload)) == message
    assert message_in(with_message(event("{}"), message)) == message


def test_what_any_session_writes_is_persistent() -> None:
    found = message_in(event(json.dumps({"type": "own.m", "fields": {}, "class": "captured"})))
    assert found.message_class is MessageClass.PERSISTENT


def test_other_messages_of_the_log_are_none() -> None:
    assert [is_message(event("{}", prefix)) for prefix in (PREFIX, "ddlrepl", "other")] == [True, False, False]


@pytest.mark.parametrize("payload", ["{", "[]", "\udcff", '{"type": "a"', "[" * 100_000, '{"type": 5, "x": 1}', "null"])
def test_messages_that_can_not_be_read(payload: str) -> None:
    encoded = base64.b64encode(payload.encode("utf-8", "surrogateescape")).decode()
    with pytest.raises(RuleError) as found:
        message_in(Event(EventKind.MESSAGE, LogKey(5, 1), 7, 10, prefix=PREFIX, payload=encoded))
    assert found.value.code == "RUL-126"
