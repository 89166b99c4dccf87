"""This module reads messages for queues out of the log: those that `ddlrepl.enqueue` has signed, with their writer.

Anybody may write messages into the log under any prefix. One that is not signed is not taken, whatever it says; it is
counted, and the run says how many there were.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from airflow_ddlrepl.engines.postgres.pgoutput.control_messages import LogicalMessage, Stamp
from airflow_ddlrepl.engines.postgres.pgoutput.message_signature import content_of
from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.streams.messages import DdlLcr, UserMessage
from airflow_ddlrepl.streams.rules.written_messages import CASE, PREFIX, message_of

UNSIGNED = "a message that ddlrepl.enqueue has not signed"
PLACE = TableName("ddlrepl", "message")


@dataclass(slots=True)
class UnsignedMessages:
    """These are the messages with the prefix of queues that nobody may take. last: the place of the last one."""

    count: int = 0
    last: Stamp | None = field(default=None)

    def unless_signed(self, message: LogicalMessage, at: Stamp, *, is_genuine: bool) -> Event | None:
        """Return the control record of a message for queues; None for one that nobody may take, which is counted.

        is_genuine: has it our signature?
        """
        event = queue_event(message, at) if is_genuine and message.transactional else None
        if event is None:
            self.count += 1
            self.last = at
        return event

    def events(self) -> list[Event]:
        """Return a control record that counts them; none where there were none."""
        if self.last is None:
            return []
        at = self.last
        counted = f"{self.count} messages"
        kept = (at.key, at.xid, at.committed, at.origin)
        return [Event(EventKind.IGNORED, *kept, statement=counted, dropped=((0, PLACE),), discarded=UNSIGNED)]


def is_for_queues(message: LogicalMessage) -> bool:
    """Return whether a message of the log says that it is for queues."""
    return message.prefix == PREFIX


def queue_event(message: LogicalMessage, at: Stamp) -> Event | None:
    """Return the control record of a signed message; None for one of another transaction, or about another object."""
    said = content_of(message.content, at.xid)
    if said is None or said.get("kind") != "message" or not _is_about(said):
        return None
    payload = base64.b64encode(str(said["message"]).encode()).decode()
    place = (at.key, at.xid, at.committed, at.origin)
    return Event(EventKind.MESSAGE, *place, prefix=PREFIX, payload=payload, settings={"role": str(said["writer"])})


def _is_about(said: dict[str, Any]) -> bool:
    """Return whether the server has checked its writer's rights over all that the message is about, as we read it."""
    try:
        lcr = message_of(json.loads(said["message"], parse_float=Decimal), CASE)
    except (RuleError, ValueError, RecursionError):
        return True  # no client reads it otherwise: they discard it, and say why
    if isinstance(lcr, UserMessage):
        return True
    objects = [[lcr.owner, lcr.name]]
    if isinstance(lcr, DdlLcr) and lcr.base_name is not None:
        objects.append([lcr.base_owner, lcr.base_name])
    return str(lcr.command) == said.get("command") and all(one in said.get("objects", ()) for one in objects)
