"""This module puts user messages and persistent LCRs into a capture's queue, through the source's log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.abilities.of_source import SendsMessages
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.errors import MessageError
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.fencing import require_not_cut_over
from airflow_ddlrepl.flow.run.results import Printable
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.notation.suggestion import suggestion
from airflow_ddlrepl.streams.condition.kinds import Kind, accessed
from airflow_ddlrepl.streams.messages import Message, MessageClass, UserMessage
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.queue.messages import payload_of
from airflow_ddlrepl.streams.rules.written_messages import message_of, written


@dataclass(frozen=True)
class Enqueued(Printable):
    """This is what was enqueued: how many messages, and into which queue."""

    messages: int
    queue: str


def enqueue(
    run: RunContext, messages: Sequence[Message | Mapping[str, Any]], queue: str = "", connection: Any = None
) -> Enqueued:
    """Put messages into the queue of the capture process: all in one transaction, or none.

    messages: as objects, or as JSON values like `message_of` reads them. queue: empty: whichever it is.
    connection: an open connection to the source, in whose transaction they are written; None: one of their own.
    Raises RuleError RUL-126 for a message that can't be read, MessageError MSG-101 for one that does not fit its type,
    MSG-102 for a queue that the capture process does not fill, ConfigError CFG-130 when the channel is not active,
    CannotCutOver CUT-101 when it is cut over: nobody would read the message.
    """
    clients = StreamsClients(run)
    name = _queue(clients, queue)
    accepted = [_accepted(clients.environment, message) for message in messages]
    require_not_cut_over(run)
    run.captured()
    able(run.source, SendsMessages).send([payload_of(message) for message in accepted], connection)
    return Enqueued(len(accepted), name)


def _queue(clients: StreamsClients, queue: str) -> str:
    """Return the queue that the log's messages come into. queue: as somebody calls it; empty: whichever it is."""
    capture = clients.capture
    if capture is None:
        hint = "add_table_rules with streams_type capture makes one"
        raise MessageError("the channel has no capture process", code="MSG-102", hint=hint)
    if queue and clients.environment.name(queue) != capture.queue:
        hint = f"its queue is {capture.queue}; propagations pass messages on to others"
        raise MessageError(f"the capture process does not fill queue {queue}", code="MSG-102", hint=hint)
    return capture.queue


def _accepted(environment: Environment, content: Message | Mapping[str, Any]) -> Message:
    """Return a message that may be enqueued. What an object says is read again as its reader will."""
    case = environment.case
    message = message_of(written(content, case) if isinstance(content, Message) else content, case)
    if message.message_class is not MessageClass.PERSISTENT:
        raise MessageError(
            f"a {message.message_class} message can't be enqueued",
            code="MSG-101",
            hint="leave `class` out: what is enqueued is persistent",
        )
    if isinstance(message, UserMessage):
        _require_fits(message, environment.message_types)
    return message


def _require_fits(message: UserMessage, types: Mapping[str, Mapping[str, Kind]]) -> None:
    """Raise MessageError MSG-101 unless the message's type is declared and has its fields."""
    fields = types.get(message.type)
    if fields is None:
        raise MessageError(
            f"the message type {message.type} is not declared",
            code="MSG-101",
            hint=suggestion(message.type, types) if types else "declare it with its fields in `streams: message_types`",
        )
    for name, value in message.fields.items():
        if name not in fields:
            what, hint = f"has no field {name}", suggestion(name, fields)
        elif value is not None and accessed(value, fields[name]) is None:
            what, hint = f"has a field {name} of kind {fields[name]}, and {value!r} is none", _EXAMPLES[fields[name]]
        else:
            continue
        raise MessageError(f"message type {message.type} {what}", code="MSG-101", hint=hint)


_EXAMPLES = {
    Kind.TEXT: 'write a text: "EUROPE"',
    Kind.NUMBER: 'write a number: 1, or {"number": "0.1"}',
    Kind.MOMENT: 'write {"date": "2024-01-31"}',
    Kind.RAW: 'write {"raw": "0A"}',
}
