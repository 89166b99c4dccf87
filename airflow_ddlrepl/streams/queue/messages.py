"""This module reads and writes the messages that applications put into a queue through the source's log."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from decimal import Decimal

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.streams.messages import Message, MessageClass
from airflow_ddlrepl.streams.rules.written_messages import CASE, PREFIX, message_of, written


def is_message(event: Event) -> bool:
    """Return whether an event of the log is a message for queues, whether it can be read or not."""
    return event.kind is EventKind.MESSAGE and event.prefix == PREFIX


def payload_of(message: Message) -> str:
    """Return the text that the log holds of a message: JSON in ASCII, which no encoding of a server changes.

    Raises RuleError RUL-126 for a value that is none of a column.
    """
    return json.dumps(written(message, CASE), separators=(",", ":"))


def message_in(event: Event) -> Message:
    """Return the message in an event of the log, which is persistent, whatever it says.

    Raises RuleError RUL-126 where the event holds none that can be read: any session may write such an event.
    """
    try:
        data = json.loads(base64.b64decode(event.payload), parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise RuleError(
            f"the message at {event.key} of the log is no JSON: {error}",
            code="RUL-126",
            at=event.key,
            hint=f"messages with the prefix {PREFIX} are written by `ddlrepl enqueue`, or as docs/streams.md shows it",
        ) from None
    return replace(message_of(data, CASE), message_class=MessageClass.PERSISTENT)


def with_message(event: Event, message: Message) -> Event:
    """Return the event with another message in its place."""
    return replace(event, payload=base64.b64encode(payload_of(message).encode()).decode())
