"""This module opens the clients of a channel: rules, queues, and the feeds that each queue consists of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from airflow_ddlrepl.config.sections.location import resolve, user_of
from airflow_ddlrepl.config.sections.streams import ApplyTarget, Streams
from airflow_ddlrepl.engines import source_engine
from airflow_ddlrepl.engines.abilities.sync_capture import CaptureRules
from airflow_ddlrepl.errors import ConfigError, RuleError
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.streams.feed import CapturedManifests, Feed, FeedManifests, OwnFeed
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.streams.condition.kinds import Kind
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.evaluation.row_batch import arrow_kind
from airflow_ddlrepl.streams.messages import MessageClass
from airflow_ddlrepl.streams.procedures.environment import Environment, Former
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.queue.custom_functions import CustomFunctions
from airflow_ddlrepl.streams.queue.ruled_writer import ClientRules
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.trail.store import Trail

CASE = NameCase.LOWER
CAPTURE = "capture"


class StreamsClients:
    """These are the clients of a channel with their queues, as this run finds them; none without `streams`."""

    def __init__(self, run: RunContext) -> None:
        self.run, self.section = run, run.channel.clients

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Return the source's tables with the shapes that are captured last."""
        known = self.run.repository.latest_revisions(self.run.channel.name).values()
        return tuple(revision.table for revision in known if revision.table is not None)

    @cached_property
    def environment(self) -> Environment:
        """Return the rules, rule sets and clients that the calls make. Raises RuleError (RUL-…) as the calls do."""
        tables = self.tables if self.section.calls else ()
        columns = {f"{table.name.schema}.{table.name.name}": kinds_of(table, self.values) for table in tables}
        return _environment(self.section, columns, self._former)

    def _former(self, name: str) -> Iterator[Mapping[str, Kind]]:
        """Yield the columns that a table of this name had before, newest first."""
        for revisions in self.run.repository.histories(self.run.channel.name).values():
            for one in reversed(revisions):
                if one.table is not None and f"{one.table.name.schema}.{one.table.name.name}" == name:
                    yield kinds_of(one.table, self.values)

    def require_fitting(self, client: Client | None = None) -> None:
        """Raise RuleError (RUL-103, RUL-104) where a table has outgrown the condition of a rule. client: None: any."""
        for one in self.environment.outgrown:
            if client in (None, one.client):
                raise one.error

    def target(self, name: str) -> ApplyTarget:
        """Return the target of an apply process. Raises ConfigError CFG-193 for a name that none has."""
        for one in self.section.targets:
            if one.name == name:
                return one
        raise ConfigError(
            f"channel {self.run.channel.name} has no target {name} in its section streams",
            code="CFG-193",
            hint=f"it has {', '.join(other.name for other in self.section.targets) or 'none'}",
        )

    def targets(self, name: str = "") -> Sequence[ApplyTarget]:
        """Return the targets of apply processes; name: only the one of this name. Raises as `target` does."""
        return (self.target(name),) if name else self.section.targets

    @property
    def values(self) -> ChangeValues:
        """Return how the source's values are shown to conditions."""
        return source_engine(self.run.channel).values

    @cached_property
    def database(self) -> str:
        """Return the source database's name in rules."""
        if self.section.source_database:
            return CASE.plain(self.section.source_database)
        return CASE.plain(unquote(urlsplit(resolve(self.run.channel.source.location)).path.strip("/")))

    @property
    def functions(self) -> CustomFunctions:
        """Return the channel's allow-list of functions."""
        listed = {CASE.plain(name): place for name, place in self.section.functions.items()}
        return CustomFunctions(listed, float(self.section.function_seconds))

    def of_kind(self, kind: ClientKind) -> list[Client]:
        """Return the clients of a kind."""
        return [client for client in self.environment.clients.values() if client.kind is kind]

    @property
    def capture(self) -> Client | None:
        """Return the capture process. Raises RuleError RUL-140 where there are two: one log has one."""
        return self.environment.capture

    def user(self, client: Client) -> str:
        """Return the user that a client works as.

        Of a capture it is that of the connection to the source, of a propagation the owner of its source queue, of an
        apply process that of the connection to its target, of a messaging client who has started the run.
        """
        if client.kind is ClientKind.DEQUEUE:
            return self.run.user
        target = next((one for one in self.section.targets if CASE.plain(one.apply) == client.name), None)
        if client.kind is ClientKind.APPLY and target is not None:
            return user_of(target.location)
        owner, _, name = client.queue.rpartition(".")
        if client.kind is ClientKind.PROPAGATION and owner and name:
            return owner
        return user_of(self.run.channel.source.location)

    def rules(self, client: Client) -> ClientRules:
        """Return what a task needs to do a client's work."""
        return ClientRules(client, self.database, self.functions, user=self.user(client))

    def capture_rules_of(self, client: Client) -> CaptureRules:
        """Return the rules of a synchronous capture."""
        return CaptureRules(client, self.database, self.functions.listed)

    def capture_rules(self) -> ClientRules | None:
        """Return the rules of the capture process, with the shapes of tables that its log begins with."""
        client = self.capture
        return None if client is None else replace(self.rules(client), tables=self.tables)

    def feeds(self, queue: str) -> list[Feed]:
        """Return the feeds of a queue. Raises RuleError RUL-141 where messages would go in a circle."""
        return list(self._feeds(queue, ()))

    def _feeds(self, queue: str, behind: tuple[str, ...]) -> Iterator[Feed]:
        if queue in behind:
            raise RuleError(
                f"propagations bring the messages of queue {queue} back into it",
                code="RUL-141",
                hint="a queue gets each message once: remove one of the propagations",
            )
        if self.capture is not None and self.capture.queue == queue:
            captured = CapturedManifests(self.run.repository, self.run.channel.name)
            yield Feed(CAPTURE, queue, self.run.trail, self.run.epoch, MessageClass.CAPTURED, captured)
        for client in self.of_kind(ClientKind.SYNC_CAPTURE):
            if client.queue == queue:
                yield self.own_feed(client.name, queue, 0, MessageClass.PERSISTENT)
        for client in self.of_kind(ClientKind.PROPAGATION):
            if client.destination == queue:
                for feed in self._feeds(client.queue, (*behind, queue)):
                    yield self.passed_on(client, feed)

    def passed_on(self, client: Client, feed: Feed) -> OwnFeed:
        """Return the feed into which a propagation passes on another one."""
        return self.own_feed(f"{client.name}.{feed.name}", client.destination, feed.epoch, feed.message_class)

    def own_feed(self, name: str, queue: str, epoch: int, message_class: MessageClass) -> OwnFeed:
        """Return a feed whose trail belongs to one client other than the capture process."""
        url = self.section.queues.get(queue, self.run.channel.trail)
        folder = f"{self.run.channel.name}.{_plain(queue)}.{_plain(name)}"
        trail, manifests = Trail(url, folder), FeedManifests(self.run.repository, self.run.channel.name, folder)
        trail.is_own = manifests.is_own
        return OwnFeed(name, queue, trail, epoch, message_class, manifests)

    def require_fed(self, client: Client) -> list[Feed]:
        """Return the feeds of the queue that a client reads. Raises RuleError RUL-142 where nothing feeds it."""
        found = self.feeds(client.queue)
        if not found:
            raise RuleError(
                f"nothing comes into queue {client.queue} of {client.words}",
                code="RUL-142",
                hint="name the queue of a capture, or add a propagation whose destination it is",
            )
        return found


_newest: tuple[Streams, Mapping[str, Mapping[str, Kind]], Environment] | None = None


def _environment(section: Streams, columns: Mapping[str, Mapping[str, Kind]], former: Former) -> Environment:
    """Return the environment that a section's calls make; stages, windows and tasks of a process ask for the same one.

    Thousands of rules take seconds to be parsed; nobody changes an environment that a channel has.
    """
    global _newest
    if _newest is None or _newest[0] != section or _newest[1] != columns:
        _newest = (section, columns, environment_of(section, CASE, columns, former))
    return _newest[2]


def kinds_of(table: Table, values: ChangeValues) -> Mapping[str, Kind]:
    """Return the kind of each column's values, of those that conditions can read."""
    found = {}
    for column in table.columns:
        shown = values.shown_type(column, table.types)
        kind = Kind.NUMBER if values.is_number(column, table.types) else arrow_kind(shown)
        if kind is not None and not pa.types.is_boolean(shown):
            found[column.name] = kind
    return found


def _plain(name: str) -> str:
    """Return a name as a part of a folder's: characters that can't stand there become their numbers."""
    return re.sub(r"[^A-Za-z0-9_.-]", lambda found: f"-{ord(found[0]):x}-", name)
