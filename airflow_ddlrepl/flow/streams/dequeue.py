"""This module is the messaging client: it takes persistent messages out of a queue when somebody asks for them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from airflow_ddlrepl.errors import DdlReplError, Exit, MessageError
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.stage import errors_recorded
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.flow.streams.waiting_messages import Waiting, waiting_messages
from airflow_ddlrepl.repository.dequeued import FeedPosition
from airflow_ddlrepl.repository.process import this_holder
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.messages import Message
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.queue.message_rules import ruled
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.decide import Reason
from airflow_ddlrepl.streams.rules.function_use import FunctionUse
from airflow_ddlrepl.streams.rules.written_messages import written
from airflow_ddlrepl.visible import as_lines

WAIT_SECONDS = 30.0


@dataclass(frozen=True)
class Dequeued:
    """This is what a call of a messaging client gave: messages, and how many were discarded, by the reason.

    stopped_by: why the next message could not be given; that message, and all behind it, wait. case: of names.
    functions: that rules have called.
    """

    client: str
    messages: tuple[Message, ...] = ()
    discarded: Mapping[str, int] = field(default_factory=dict)
    stopped_by: DdlReplError | None = None
    case: NameCase = NameCase.LOWER
    functions: tuple[FunctionUse, ...] = ()

    @property
    def exit_code(self) -> Exit:
        """Return FAILED when a message could not be given."""
        return Exit.FAILED if self.stopped_by is not None else Exit.DONE

    def written(self) -> list[dict[str, Any]]:
        """Return the messages as JSON values."""
        return [written(message, self.case) for message in self.messages]

    def text(self) -> str:
        """Return one line of JSON for each message, and what became of others."""
        lines = [json.dumps(one, ensure_ascii=False) for one in self.written()]
        lines += [f"discarded {count}: {why}" for why, count in self.discarded.items()]
        if self.stopped_by is not None:
            lines.append(f"the next message waits: {self.stopped_by}")
        return as_lines(lines) or "no messages"

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        stopped = str(self.stopped_by) if self.stopped_by is not None else None
        return {
            "client": self.client,
            "messages": self.written(),
            "discarded": {**self.discarded},
            "error": stopped,
            "functions": [asdict(use) for use in self.functions],
        }


class MessagingClient:
    """A messaging client gives the messages of its queue that its rules take, transformed, and discards the others.

    discarded: how many it has discarded, by the reason. moved: where it is in each feed, once that is stored.
    """

    def __init__(self, clients: StreamsClients, client: Client, behind: Mapping[str, FeedPosition]) -> None:
        """behind: where the client is in each feed. Raises RuleError RUL-134, RUL-135 for a function of its rules."""
        self.client = client
        self.discarded: Counter[str] = Counter()
        self.moved: dict[str, FeedPosition] = {}
        self._clients = clients
        self._behind = behind
        rules = client.positive.rules.values() if client.positive is not None else ()
        self._functions = clients.functions.of_client(client, clients.user(client))
        self._functions.require(rule.action.function for rule in rules if rule.action.function)

    @property
    def case(self) -> NameCase:
        """Return how names are spelled in messages."""
        return self._clients.environment.case

    @property
    def functions(self) -> tuple[FunctionUse, ...]:
        """Return which functions the client has called so far."""
        return self._functions.uses

    def dequeue(self, at_most: int | None = None) -> Iterator[Message]:
        """Yield messages. What was yielded, and what was discarded before it, is taken when the block ends.

        Raises RuleError RUL-122 or RUL-137 where a transformation fails: that message, and all behind it, wait.
        """
        yield from self._messages(at_most, self.moved, self.discarded)

    def browse(self, at_most: int | None = None) -> Iterator[Message]:
        """Yield the messages that `dequeue` would yield, and take none."""
        yield from self._messages(at_most, dict(self.moved), Counter())

    def _messages(
        self, at_most: int | None, moved: dict[str, FeedPosition], discarded: Counter[str]
    ) -> Iterator[Message]:
        given = 0
        if at_most == 0:
            return
        for waiting in waiting_messages(self._clients, self.client, {**self._behind, **moved}, self._functions):
            found = self._taken(waiting, discarded)
            moved[waiting.feed] = waiting.at
            if found is not None:
                given += 1
                yield found
                if given == at_most:
                    return

    def _taken(self, entry: Waiting, discarded: Counter[str]) -> Message | None:
        """Return the message as the client gives it; None: it is discarded, or no message."""
        if entry.message is None:
            if entry.problem:
                log.warning("message at %s: %s; it is discarded", entry.at.key, entry.problem)
                discarded[entry.problem] += 1
            return None
        if entry.is_ruled:
            return entry.message
        verdict, message = ruled(self.client, entry.message, self._functions)
        for warning in verdict.warnings:
            log.warning("message at %s: %s", entry.at.key, warning)
        if verdict.is_taken:
            return message
        if verdict.reason is not Reason.NOT_FOR_CLIENT:
            discarded[verdict.why] += 1
        return None


@contextmanager
def messaging_client(run: RunContext, name: str = "", wait_seconds: float = WAIT_SECONDS) -> Iterator[MessagingClient]:
    """Open a messaging client for the block; what it gave there is taken when the block ends without an exception.

    name: empty: the channel's only one. Nobody else dequeues with it meanwhile; raises LockHeld LCK-101 when somebody
    does for so long. The channel's cycles go on beside it.
    """
    clients = StreamsClients(run)
    client = client_named(clients.environment, name)
    clients.require_fitting(client)
    run.captured()
    known = (run.channel.name, client.name)
    with run.repository.client_lock(*known, f"{this_holder()}, dequeue", wait_seconds) as lock:
        found = MessagingClient(clients, client, run.repository.dequeued(*known))
        yield found
        lock.check()
        run.repository.set_dequeued(*known, lock.token, found.moved)


def browsing_client(run: RunContext, name: str = "") -> MessagingClient:
    """Return a messaging client that nobody waits for, to browse with. name: empty: the channel's only one."""
    clients = StreamsClients(run)
    client = client_named(clients.environment, name)
    clients.require_fitting(client)
    run.captured()
    return MessagingClient(clients, client, run.repository.dequeued(run.channel.name, client.name))


def dequeue(run: RunContext, name: str = "", *, browse: bool = False, at_most: int | None = None) -> Dequeued:
    """Return messages of a client's queue, and take them, or with `browse` leave them there.

    Raises what stops it at the first message; else the messages before come back, and `stopped_by` says why.
    """
    if browse:
        return browsed(run, name, at_most)
    with dequeuing(run, name, at_most) as found:
        return found


def browsed(run: RunContext, name: str = "", at_most: int | None = None) -> Dequeued:
    """Return messages of a client's queue, and leave them there."""
    with errors_recorded(run, "dequeue"):
        return _collected(browsing_client(run, name), at_most, browse=True)


@contextmanager
def dequeuing(run: RunContext, name: str = "", at_most: int | None = None) -> Iterator[Dequeued]:
    """Give messages of a client's queue to the block, and take them when it ends without an exception."""
    with messaging_client(run, name) as client:
        with errors_recorded(run, "dequeue"):
            found = _collected(client, at_most, browse=False)
        yield found


def _collected(client: MessagingClient, at_most: int | None, *, browse: bool) -> Dequeued:
    found: list[Message] = []
    stopped = None
    try:
        for message in client.browse(at_most) if browse else client.dequeue(at_most):
            found.append(message)
    except DdlReplError as error:
        if not found:
            raise
        stopped = error
    return Dequeued(client.client.name, tuple(found), dict(client.discarded), stopped, client.case, client.functions)


def client_named(environment: Environment, name: str) -> Client:
    """Return a messaging client of the channel; empty: its only one. Raises MessageError MSG-103, RuleError RUL-113."""
    if name:
        return environment.existing_client(ClientKind.DEQUEUE, name)
    known = [one for (kind, _), one in environment.clients.items() if kind is ClientKind.DEQUEUE]
    if len(known) == 1:
        return known[0]
    raise MessageError(
        f"the channel has {len(known) or 'no'} messaging clients",
        code="MSG-103",
        hint=f"name one of {', '.join(one.name for one in known)}"
        if known
        else "add_table_rules or add_message_rule with streams_type dequeue makes one",
    )
