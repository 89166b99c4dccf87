"""This module reads the persistent messages that wait in the feeds of a queue, oldest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from airflow_ddlrepl.errors import MessageError, RuleError
from airflow_ddlrepl.flow.streams.clients import CAPTURE, StreamsClients
from airflow_ddlrepl.flow.streams.feed import Feed
from airflow_ddlrepl.model.change import Event, EventKind, why_ignored
from airflow_ddlrepl.model.position import BEGINNING, LogKey, Position
from airflow_ddlrepl.repository.dequeued import FeedPosition
from airflow_ddlrepl.streams.messages import Message, MessageClass
from airflow_ddlrepl.streams.queue.custom_functions import CustomFunctions
from airflow_ddlrepl.streams.queue.messages import is_message, message_in
from airflow_ddlrepl.streams.queue.reader import QueueReader
from airflow_ddlrepl.streams.queue.stage import ClientStage
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.trail.manifest import Segment


@dataclass(frozen=True, slots=True)
class Waiting:
    """A waiting message has its place in its feed, and when it was committed (microseconds since 1970, UTC).

    message: None: it can't be read, and `problem` says why; or both are empty: nothing waits up to this place.
    is_ruled: the client's rules have taken and transformed it; else they have yet to decide.
    """

    feed: str
    at: FeedPosition
    committed: int
    message: Message | None = None
    problem: str = ""
    is_ruled: bool = False


def waiting_messages(
    clients: StreamsClients, client: Client, behind: Mapping[str, FeedPosition], functions: CustomFunctions
) -> Iterator[Waiting]:
    """Yield the messages of a client's queue behind its positions, by the time of their commit.

    functions: as the client calls them.

    Messages of one feed come in its order. Raises MessageError MSG-104 where the trail does not have all of them,
    RuleError (RUL-…) at a row that its rules or transformations can't evaluate.
    """
    fed = clients.require_fed(client)
    feeds = [_of_feed(clients, client, feed, behind.get(feed.name), functions) for feed in fed]
    yield from heapq.merge(*feeds, key=lambda one: (one.committed, one.feed))


def _of_feed(
    clients: StreamsClients, client: Client, feed: Feed, behind: FeedPosition | None, functions: CustomFunctions
) -> Iterator[Waiting]:
    start = behind.key if behind is not None and behind.epoch == feed.epoch else BEGINNING
    _require_retained(clients, feed, behind)
    end = committed = 0
    for segment in feed.segments(Position(start.lsn)):
        end = segment.high
        stage = ClientStage(client, clients.database, clients.values, functions)
        rows = _rows(clients, stage, feed, segment, start)
        for waiting in heapq.merge(_messages(feed, segment, start), rows, key=lambda one: one.at):
            committed = waiting.committed
            yield waiting
    if (last := LogKey.last_before(Position(end))) > start:
        yield Waiting(feed.name, FeedPosition(feed.epoch, last), committed)


def _messages(feed: Feed, segment: Segment, start: LogKey) -> Iterator[Waiting]:
    """Yield what applications have enqueued."""
    for event in sorted(feed.trail.events(segment), key=lambda one: one.key):
        if event.key > start and is_message(event) and not why_ignored(event):
            yield _of_event(feed, event)
        elif event.key > start and event.is_left_out and event.kind is EventKind.GAP:
            at = FeedPosition(feed.epoch, event.key)
            yield Waiting(feed.name, at, event.committed, problem=f"messages may be missing: {event.statement}")


def _of_event(feed: Feed, event: Event) -> Waiting:
    at = FeedPosition(feed.epoch, event.key)
    try:
        return Waiting(feed.name, at, event.committed, message_in(event))
    except RuleError as error:
        return Waiting(feed.name, at, event.committed, problem=error.message)


def _rows(
    clients: StreamsClients, stage: ClientStage, feed: Feed, segment: Segment, start: LogKey
) -> Iterator[Waiting]:
    """Yield the rows of a synchronous capture that the client takes; rows of others are not persistent."""
    if feed.message_class is not MessageClass.PERSISTENT or not segment.rows:
        return
    reader = QueueReader(feed.trail, stage, clients.values, feed.message_class, is_typed=True)
    for transaction in reader.transactions(segment, start):
        for queued in transaction.messages:
            if queued.event is not None:  # `_messages` has it
                continue
            at = FeedPosition(feed.epoch, queued.key)
            yield Waiting(feed.name, at, transaction.committed, queued.typed, is_ruled=True)


def _require_retained(clients: StreamsClients, feed: Feed, behind: FeedPosition | None) -> None:
    """Raise MessageError MSG-104 where segments were removed that the client had not read to their end."""
    if behind is None or behind.epoch != feed.epoch or feed.name != CAPTURE:
        return
    retained = clients.run.repository.retained_from(clients.run.channel.name)
    if behind.key < LogKey.last_before(retained):
        raise MessageError(
            f"the trail has its log from {retained} on, and the client has read it up to {behind.key} alone",
            code="MSG-104",
            at=behind.key,
            hint="messages between them may be lost: restore the trail's files, or give the client another name",
        )
