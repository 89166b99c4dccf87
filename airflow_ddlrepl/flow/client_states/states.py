"""The status of a channel says of each client of Streams where it is, and how much waits for it since when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from airflow_ddlrepl.engines.abilities.sync_capture import NUMBER_BITS, CapturesBySync
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.client_states.queued import Queued, queued
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.streams.clients import CAPTURE, StreamsClients
from airflow_ddlrepl.flow.streams.feed import Feed
from airflow_ddlrepl.flow.streams.sync_capture import feed_of
from airflow_ddlrepl.flow.targets.lag import Lag, age
from airflow_ddlrepl.model.position import BEGINNING, LogKey, Position
from airflow_ddlrepl.streams.messages import MessageClass
from airflow_ddlrepl.streams.rules.client import Client, ClientKind

Applied = Mapping[str, Mapping[str, Position | None] | None]
"""Up to where each target has the feeds of its queue, by target and feed; None: the target does not answer."""

UNKNOWN: dict[str, Any] = {"positions": {}, "messages": None, "is_more": False, "lag_seconds": None}


@dataclass(frozen=True)
class AtSource:
    """What is known of the source.

    lag: how old the oldest commit is that nobody has captured. clock: the source's. answers: does the source?
    """

    lag: Lag
    clock: datetime
    answers: bool = True


@dataclass
class ClientStates:
    """This finds the states of a channel's clients, and with them what waits in each queue.

    applied: where the targets of apply processes are.
    """

    clients: StreamsClients
    source: AtSource
    applied: Applied
    _waiting: dict[tuple[str, str], Queued] = field(default_factory=dict)

    def all(self) -> list[dict[str, Any]]:
        """Return for each client kind, name, queue and destination, and its state, as JSON.

        positions: by feed, where it is. messages: that wait for it, is_more: at least so many. lag_seconds: the age of
        the oldest of them. target: of an apply process, which has a state for each of its targets. problem: why nothing
        is known of it.
        """
        found = []
        for client in self.clients.environment.clients.values():
            known = {"kind": str(client.kind), "name": client.name, "queue": client.queue}
            known |= {"destination": client.destination, "target": "", "problem": ""}
            try:
                found += [{**known, **state} for state in self._of(client)]
            except DdlReplError as error:
                log.error("%s: %s", client.words, error)
                found.append({**known, **UNKNOWN, "problem": f"{error.code}: {error.message}"})
        return found

    def queues(self) -> list[dict[str, Any]]:
        """Return for each queue how far its feeds are, and how many messages one of its readers has yet to read.

        messages: None: nobody reads the queue. To be called behind `all`.
        """
        clients = self.clients.environment.clients.values()
        names = dict.fromkeys(name for one in clients for name in (one.queue, one.destination) if name)
        return [{"queue": name, **self._queue(name)} for name in names]

    def _queue(self, name: str) -> dict[str, Any]:
        waiting = [one for (queue, _), one in self._waiting.items() if queue == name]
        try:
            positions = {one.name: place_text(one, read_before(one.end())) for one in self.clients.feeds(name)}
        except DdlReplError as error:
            return {**UNKNOWN, "problem": f"{error.code}: {error.message}"}
        return self._state(positions, waiting) if waiting else {**UNKNOWN, "positions": positions}

    def _of(self, client: Client) -> Iterator[dict[str, Any]]:
        match client.kind:
            case ClientKind.CAPTURE:
                yield {**UNKNOWN, **self.source.lag.to_json()}
            case ClientKind.SYNC_CAPTURE:
                yield self._of_triggers(client)
            case ClientKind.PROPAGATION:
                feeds = self.clients.feeds(client.queue)
                yield self._of_reader(
                    client, {one.name: read_before(self.clients.passed_on(client, one).end()) for one in feeds}
                )
            case ClientKind.DEQUEUE:
                taken = self.clients.run.repository.dequeued(self.clients.run.channel.name, client.name)
                epochs = {one.name: one.epoch for one in self.clients.feeds(client.queue)}
                yield self._of_reader(client, {n: at.key for n, at in taken.items() if at.epoch == epochs.get(n)})
            case ClientKind.APPLY:
                for target in self.clients.section.targets:
                    if self.clients.environment.name(target.apply) == client.name:
                        yield {"target": target.name, **self._of_apply(client, self.applied.get(target.name))}

    def _of_apply(self, client: Client, at: Mapping[str, Position | None] | None) -> dict[str, Any]:
        if at is None:
            return {**UNKNOWN, "problem": "its target does not answer"}
        return self._of_reader(client, {name: read_before(one) for name, one in at.items()})

    def _of_triggers(self, client: Client) -> dict[str, Any]:
        feed = feed_of(self.clients, client)
        state = {**UNKNOWN, "positions": {feed.name: place_text(feed, read_before(feed.end()))}}
        if not self.source.answers:
            return state
        captures = able(self.clients.run.source, CapturesBySync).sync_captures
        found = captures.of(self.clients.capture_rules_of(client)).unread_rows()
        lag = round(found.seconds or 0.0, 1)
        return {**state, "messages": found.rows, "is_more": found.is_more, "lag_seconds": lag}

    def _of_reader(self, client: Client, read: Mapping[str, LogKey]) -> dict[str, Any]:
        """Return the state of a client that reads a queue. read: up to where, by feed."""
        positions, waiting = {}, []
        for feed in self.clients.feeds(client.queue):
            at = read.get(feed.name, BEGINNING)
            positions[feed.name] = place_text(feed, at)
            waiting.append(queued(feed, at, is_messaging=client.kind is ClientKind.DEQUEUE))
            place = (client.queue, feed.name)
            self._waiting[place] = max(self._waiting.get(place, Queued()), waiting[-1], key=lambda one: one.messages)
        return self._state(positions, waiting)

    def _state(self, positions: Mapping[str, str | None], queued: Sequence[Queued]) -> dict[str, Any]:
        """Return where a client or a queue is, and what waits there together, as JSON."""
        whole = sum_of(queued)
        lag = 0.0 if whole.oldest is None else age(whole.oldest, self.source.clock)
        return {"positions": positions, "messages": whole.messages, "is_more": whole.is_more, "lag_seconds": lag}


def with_captured(states: list[dict[str, Any]], captured: Position, ahead: int | None) -> list[dict[str, Any]]:
    """Return the states with captures at the position, and so many bytes behind the source, as the status has them."""
    place = {"positions": {CAPTURE: str(captured)}, "lag_bytes": ahead}
    return [{**one, **place} if one["kind"] == ClientKind.CAPTURE and not one["problem"] else one for one in states]


def sum_of(queued: Sequence[Queued]) -> Queued:
    """Return what waits in several feeds together."""
    oldest = min((one.oldest for one in queued if one.oldest is not None), default=None)
    return Queued(sum(one.messages for one in queued), any(one.is_more for one in queued), oldest)


def client_states(run: RunContext, source: AtSource, applied: Applied) -> tuple[list[dict[str, Any]], list[Any]]:
    """Return the states of a channel's clients of Streams and of its queues, as JSON.

    None where the rules can't be read: the runs say so.
    """
    states = ClientStates(StreamsClients(run), source, applied)
    try:
        return states.all(), states.queues()
    except DdlReplError as error:
        log.error("the clients of channel %s: %s", run.channel.name, error)
        return [], []


def read_before(at: Position | None) -> LogKey:
    """Return the last place in front of a position, up to which a client has read; None: it has read nothing."""
    return BEGINNING if not at else LogKey.last_before(at)


def place_text(feed: Feed, read: LogKey) -> str | None:
    """Return where a client is that has read a feed up to a place, for people; None: at the feed's beginning.

    A feed of triggers has no log: its positions are the numbers of its windows.
    """
    if read <= BEGINNING:
        return None
    is_of_triggers = feed.message_class is MessageClass.PERSISTENT
    return f"window {read.lsn >> NUMBER_BITS}" if is_of_triggers else str(read.behind)
