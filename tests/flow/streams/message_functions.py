"""Functions that rules of messages call in tests."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from dataclasses import replace

from airflow_ddlrepl.streams.messages import DdlLcr, Message, RowLcr, UserMessage
from airflow_ddlrepl.streams.queue.functions import with_table_names

CALLS: list[tuple[str, str, int]] = []
"""What `ten_more` saw of each call: the user, the kind of message, and how many positions were stored then."""
STORED: list[Callable[[], int]] = []


def ten_more(message: Message) -> Message:
    """The number is ten more."""
    CALLS.append((getpass.getuser(), type(message).__name__, STORED[-1]() if STORED else 0))
    if isinstance(message, UserMessage):
        return replace(message, fields={**message.fields, "f": message.fields["f"] + 10})
    assert isinstance(message, RowLcr)
    return replace(message, new={"k": message.new["k"] + 10})


def as_row(message: UserMessage) -> RowLcr:
    """A message becomes a row of a table for notes."""
    return RowLcr("own", "notes", "dbs1", new=message.fields)


def to_pub(lcr: DdlLcr) -> DdlLcr:
    return with_table_names(lcr, {"hr.t": "pub.t"})


def only_named(lcr: DdlLcr) -> DdlLcr:
    return replace(lcr, owner="pub")


def failing(message: Message) -> Message:
    if isinstance(message, UserMessage) and message.fields["f"] == 2:
        raise ValueError("2 is not for me")
    return message
