"""This module defines the messages that rules are evaluated for: row LCRs, DDL LCRs and user messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

Values = Mapping[str, Any]


class Command(StrEnum):
    """A command is what a row LCR does to its row."""

    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


class MessageClass(StrEnum):
    """A message's class says where the message comes from, and whether it outlives its queue's memory."""

    CAPTURED = "captured"
    PERSISTENT = "persistent"
    BUFFERED = "buffered"


@dataclass(frozen=True, slots=True)
class Lcr:
    """A logical change record is one change of a source: what, of which object, from which database.

    owner, name: of the object; None where the source does not tell them. tag: None is a NULL tag. scn: the position.
    extra: further attributes by name, such as `username`.
    """

    owner: str | None
    name: str | None
    source_database: str = ""
    tag: bytes | None = None
    transaction_id: str = ""
    scn: int | None = None
    commit_scn: int | None = None
    source_time: datetime | None = None
    extra: Values = field(default_factory=dict)
    message_class: MessageClass = MessageClass.CAPTURED


@dataclass(frozen=True, slots=True)
class RowLcr(Lcr):
    """A row LCR is the change of one row. A column that `old` or `new` lacks is not in the LCR; None is NULL."""

    command: Command = Command.INSERT
    old: Values = field(default_factory=dict)
    new: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DdlLcr(Lcr):
    """A DDL LCR is one DDL statement.

    command: such as `ALTER TABLE`. base_owner, base_name: of the table that the object belongs to, or that it is.
    """

    command: str = ""
    object_type: str = ""
    base_owner: str | None = None
    base_name: str | None = None
    text: str = ""
    current_schema: str = ""
    logon_user: str = ""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A user message is a message of an application. type: its message type, as OWNER.NAME."""

    type: str
    fields: Values = field(default_factory=dict)
    message_class: MessageClass = MessageClass.PERSISTENT


Message = RowLcr | DdlLcr | UserMessage
