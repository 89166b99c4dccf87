"""Queues retain what one of their readers has yet to read, and what the channel's `retention` asks for beyond that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from airflow_ddlrepl.errors import Unreachable
from airflow_ddlrepl.flow.run.clock import is_clock_right
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.snapshots.retention import expire
from airflow_ddlrepl.flow.streams.apply_process.apply import apply_process
from airflow_ddlrepl.flow.streams.clients import CAPTURE, StreamsClients
from airflow_ddlrepl.flow.streams.feed import Feed, OwnFeed
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.streams.rules.client import ClientKind

NOTHING = Position(0)


def expire_queues(run: RunContext) -> int:
    """Remove segments that every reader of a queue has read, and that are older than is retained; return how many.

    A feed that nobody reads retains everything.
    """
    clients = StreamsClients(run)
    count = 0
    for key, (feed, positions) in _readers(clients).items():
        passed = min(positions, default=NOTHING)
        if key == (CAPTURE, feed.queue):
            count += expire(run, passed)
        elif run.channel.retention.age is not None and isinstance(feed, OwnFeed):
            count += _expire_feed(run, feed, passed, timedelta(seconds=run.channel.retention.age))
    return count


def _expire_feed(run: RunContext, feed: OwnFeed, passed: Position, age: timedelta) -> int:
    """Remove old segments of a feed. The last one stays: it says up to where the feed is."""
    before, limit = None, datetime.now(UTC) - age
    segments = list(feed.segments())
    for segment in segments[:-1]:
        if segment.high > passed or datetime.fromisoformat(segment.created) > limit:
            break
        before = segment.high
    if before is None or not is_clock_right(run):
        return 0
    run.check_lock()
    return feed.expire(before, run.token)


def _readers(clients: StreamsClients) -> Mapping[tuple[str, str], tuple[Feed, list[Position]]]:
    """Return each feed that is read, with the positions of its readers."""
    found: dict[tuple[str, str], tuple[Feed, list[Position]]] = {}
    for feed, position in _positions(clients):
        found.setdefault((feed.name, feed.queue), (feed, []))[1].append(position)
    return found


def _positions(clients: StreamsClients) -> Iterator[tuple[Feed, Position]]:
    for client in clients.of_kind(ClientKind.PROPAGATION):
        for feed in clients.feeds(client.queue):
            yield feed, clients.passed_on(client, feed).end() or NOTHING
    for target in clients.section.targets:
        queue = clients.environment.existing_client(ClientKind.APPLY, target.apply).queue
        try:
            with apply_process(clients, target) as process:
                found = process.positions()
        except Unreachable as error:  # it keeps everything that it may have to read, and no other client from its work
            log.warning("nothing that target %s reads expires: %s", target.name, error)
            found = [(feed, None) for feed in clients.feeds(queue)]
        yield from ((feed, at or NOTHING) for feed, at in found)
    for client in clients.of_kind(ClientKind.DEQUEUE):
        taken = clients.run.repository.dequeued(clients.run.channel.name, client.name)
        for feed in clients.feeds(client.queue):
            at = taken.get(feed.name)
            yield feed, Position(at.key.lsn) if at is not None and at.epoch == feed.epoch else NOTHING
