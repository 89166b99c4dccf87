"""A propagation passes the messages of a queue on to another one: what its rules take, as they leave it.

Each segment of the source's feed becomes a segment of the destination's, of the same positions, by one manifest: so
every message arrives once, whatever is killed when, and a propagation goes on behind the last segment that is there.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from airflow_ddlrepl.config.sections.location import resolve
from airflow_ddlrepl.engines import of_sources
from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.results import Printable
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.stages import PROPAGATE
from airflow_ddlrepl.flow.streams.clients import CAPTURE, StreamsClients
from airflow_ddlrepl.flow.streams.feed import Feed
from airflow_ddlrepl.flow.streams.function_uses import uses_by
from airflow_ddlrepl.model.change import EventKind, counted, why_ignored
from airflow_ddlrepl.model.position import END, LogKey, Position
from airflow_ddlrepl.ports.row_layout import Layout
from airflow_ddlrepl.streams.messages import MessageClass
from airflow_ddlrepl.streams.queue.ruled_writer import CARRIED, ClientRules, RuledWriter
from airflow_ddlrepl.streams.queue.transactions import TransactionFacts
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.function_use import FunctionCounts, FunctionUse
from airflow_ddlrepl.trail.manifest import Part, Segment
from airflow_ddlrepl.trail.store import Trail
from airflow_ddlrepl.trail.writer import PartWriter, undone_on_failure

EVERYTHING = (LogKey(0, 0), END)


@dataclass(frozen=True)
class Propagated(Printable):
    """This is what propagations did: messages passed on by propagation, their positions, and what they discarded.

    bytes: what was written into the destination queues, by propagation. migrated: updates that subset rules have made
    inserts or deletes of, by propagation: a part of the work that is done where the source queue is read. functions:
    that rules have called.
    """

    rows: dict[str, int] = field(default_factory=dict)
    segments: int = 0
    positions: dict[str, Position] = field(default_factory=dict)
    discarded: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    bytes: dict[str, int] = field(default_factory=dict)
    migrated: dict[str, int] = field(default_factory=dict)
    functions: tuple[FunctionUse, ...] = ()


@dataclass(frozen=True, slots=True)
class PartTask:
    """A part task passes one part of a segment on; it can be pickled, and its text never shows a location.

    source, destination: URL and name of the two trails. digest: of the segment's manifest. scheme: of the source's
    location.
    """

    source: tuple[str, str] = field(repr=False)
    destination: tuple[str, str] = field(repr=False)
    epoch: int
    segment_low: Position
    digest: str
    index: int
    token: int
    rules: ClientRules
    scheme: str
    message_class: MessageClass


@dataclass(frozen=True, slots=True)
class PassedPart:
    """This is a part as a propagation has written it, and how many updates became inserts or deletes."""

    part: Part
    migrated: int


@stage(PROPAGATE)
def propagate(run: RunContext, propagation: str = "") -> Propagated:
    """Pass on what is in the queues that propagations read, each up to its end.

    propagation: only this one; empty: all. Raises RuleError RUL-113 for a name that none has, and another one (RUL-…)
    where a rule or a transformation can't be evaluated: its message stays where it is, and so does what comes behind
    it. A propagation that fails keeps no other one from its work; the error names it.
    """
    started = time.monotonic()
    clients = StreamsClients(run)
    total, isolation = _Total(), FailureIsolation()
    run.part = part_named(clients, propagation) if propagation else ""
    for client, feed in in_order(clients):
        if run.part in ("", client.words):
            with isolation.one(client=client.words):
                _pass_on(clients, client, feed, total)
    isolation.end()
    seconds = round(time.monotonic() - started, 2)
    return Propagated(
        dict(total.rows),
        total.segments,
        total.positions,
        dict(total.discarded),
        seconds,
        dict(total.bytes),
        dict(total.migrated),
        uses_by(clients, total.functions),
    )


def part_named(clients: StreamsClients, name: str) -> str:
    """Return the propagation that a run is about, in words. Raises RuleError RUL-113 for a name that none has."""
    return clients.environment.existing_client(ClientKind.PROPAGATION, name).words


def has_messages(run: RunContext, of: str = "") -> bool:
    """Is there a segment that a propagation has yet to pass on? of: its name; empty: any.

    Raises ConfigError CFG-130 when the channel is not active, RuleError RUL-113 for a name that none has.
    """
    clients = StreamsClients(run)
    run.captured()
    run.part = part_named(clients, of) if of else ""
    return any(
        next(feed.segments(clients.passed_on(client, feed).end()), None) is not None
        for client, feed in in_order(clients)
        if run.part in ("", client.words)
    )


def in_order(clients: StreamsClients) -> Iterator[tuple[Client, Feed]]:
    """Yield each propagation with each feed that it reads, those first whose messages others pass on."""
    steps = [
        (client, feed) for client in clients.of_kind(ClientKind.PROPAGATION) for feed in clients.feeds(client.queue)
    ]
    for client in clients.of_kind(ClientKind.PROPAGATION):
        clients.require_fed(client)
    yield from sorted(steps, key=lambda step: step[1].name.count("."))


class _Total:
    """This total adds up what propagations do."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        self.discarded: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.migrated: Counter[str] = Counter()
        self.functions: list[tuple[Client, FunctionCounts]] = []
        self.positions: dict[str, Position] = {}
        self.segments = 0


def _pass_on(clients: StreamsClients, client: Client, feed: Feed, total: _Total) -> None:
    run, into = clients.run, clients.passed_on(client, feed)
    counts = FunctionCounts()
    total.functions.append((client, counts))
    into.finish(run.token)
    position = into.end()
    if feed.name == CAPTURE:
        require_retained(run, client, position)
    scheme = resolve(run.channel.source.location).partition("://")[0]
    for segment in feed.segments(position):
        tasks = [
            PartTask(
                (feed.trail.url, feed.trail.channel),
                (into.trail.url, into.trail.channel),
                feed.epoch,
                segment.low,
                segment.digest,
                part.index,
                run.token,
                clients.rules(client),
                scheme,
                feed.message_class,
            )
            for part in segment.parts
        ]
        with into.trail.discarded_on_failure(feed.epoch, segment.low, run.token):
            parts = run.runner.map(pass_on_part, tasks, f"propagate {client.name}", size=_size(segment))
            reach("propagate.files")
            run.check_lock()
            own = tuple(one.part for one in parts)
            passed = Segment(into.trail.channel, feed.epoch, run.token, segment.low, segment.high, own)
            passed = into.publish(passed, run.token, run.check_lock)
        reach("propagate.manifest")
        into.trail.tidy(passed)
        total.segments += 1
        total.rows[client.name] += passed.rows
        total.bytes[client.name] += _size(passed)
        total.migrated[client.name] += sum(one.migrated for one in parts)
        for part in own:
            counts.add_all(part.functions)
        total.positions[f"{client.name}: {feed.name}"] = segment.high
        _tell(into.trail, passed, total)
    if position is not None:
        total.positions.setdefault(f"{client.name}: {feed.name}", position)


def _tell(trail: Trail, segment: Segment, total: _Total) -> None:
    for event in trail.events(segment):
        if event.kind is EventKind.IGNORED:
            for _, name in event.dropped:
                total.discarded[f"{name}: {why_ignored(event)}"] += counted(event.statement)


def require_retained(run: RunContext, client: Client, position: Position | None) -> None:
    """Raise TrailError TRL-128 where the trail no longer has what a client has yet to read."""
    retained = run.repository.retained_from(run.channel.name)
    if position is not None and position < retained:
        raise TrailError(
            f"{client.words} is at {position}, and the trail begins at {retained}",
            code="TRL-128",
            at=retained,
            hint="what lies between is lost for its destination: load its tables again, in a new queue",
        )
    if position is None and retained:
        log.warning("%s begins at %s: what came before is no longer in the trail", client.name, retained)


def _size(segment: Segment) -> int:
    return sum(file.size for file in segment.files())


def pass_on_part(task: PartTask) -> PassedPart:
    """Pass one part of a segment on into files of the destination that no manifest names yet."""
    source, destination = Trail(*task.source), Trail(*task.destination)
    source.is_own = lambda _epoch, _low, digest: digest == task.digest
    part = next(one for one in source.segment(task.epoch, task.segment_low).parts if one.index == task.index)
    writer = PartWriter(destination, task.epoch, task.segment_low, task.index, task.token)
    ruled = RuledWriter(writer, task.rules, of_sources(f"{task.scheme}://").values)
    with undone_on_failure(ruled):
        _pass_on_rows(source, part, ruled, task)
        return PassedPart(ruled.finish(part.low, part.high, 0), ruled.migrated)


def _pass_on_rows(source: Trail, part: Part, ruled: RuledWriter, task: PartTask) -> None:
    table = source.transactions_in([part.transactions] if part.transactions else [])
    facts = TransactionFacts.of(table)
    for number, file in enumerate(part.files):
        layout = Layout(file.table_id, file.schema, file.name, file.identity, file.columns, file.shape, number)
        for batch in source.batches(file, *EVERYTHING):
            ruled.rows(layout, batch, facts, task.message_class)
    for event in source.part_events(part):
        is_message = event.kind in CARRIED and (event.filled or not why_ignored(event))
        if is_message or event.is_left_out:  # where rows of a table are not in the log, every apply process has to know
            ruled.event(event)
    for piece in table.to_batches():
        ruled.transactions(piece)
