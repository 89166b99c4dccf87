"""Queues retain what one of their readers has yet to read, and what the channel's `retention` asks for beyond that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.snapshots.retention import expire
from airflow_ddlrepl.flow.streams.apply_process.apply import apply_process
from airflow_ddlrepl.flow.streams.clients import CAPTURE, Feed, StreamsClients
from airflow_ddlrepl.flow.streams.propagation import position_of, segments_behind
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
        elif run.channel.retention.age is not None:
            count += _expire_feed(run, feed, passed, timedelta(seconds=run.channel.retention.age))
    return count


def _expire_feed(run: RunContext, feed: Feed, passed: Position, age: timedelta) -> int:
    """Remove old segments of a feed. The last one stays: it says up to where the feed is."""
    before, limit = None, datetime.now(UTC) - age
    segments = list(segments_behind(feed, None))
    for segment in segments[:-1]:
        if segment.high > passed or datetime.fromisoformat(segment.created) > limit:
            break
        before = segment.high
    if before is None:
        return 0
    run.check_lock()
    return feed.trail.expire(before)


def _readers(clients: StreamsClients) -> Mapping[tuple[str, str], tuple[Feed, list[Position]]]:
    """Return each feed that is read, with the positions of its readers."""
    found: dict[tuple[str, str], tuple[Feed, list[Position]]] = {}
    for feed, position in _positions(clients):
        found.setdefault((feed.name, feed.queue), (feed, []))[1].append(position)
    return found


def _positions(clients: StreamsClients) -> Iterator[tuple[Feed, Position]]:
    for client in clients.of_kind(ClientKind.PROPAGATION):
        for feed in clients.feeds(client.queue):
            yield feed, position_of(clients.passed_on(client, feed)) or NOTHING
    for target in clients.section.targets:
        with apply_process(clients, target) as process:
            known = process.there.positions(process.client.name)
            for feed in clients.feeds(process.client.queue):
                yield feed, process.position(feed, known) or NOTHING
    for client in clients.of_kind(ClientKind.DEQUEUE):
        taken = clients.run.repository.dequeued(clients.run.channel.name, client.name)
        for feed in clients.feeds(client.queue):
            at = taken.get(feed.name)
            yield feed, Position(at.key.lsn) if at is not None and at.epoch == feed.epoch else NOTHING
