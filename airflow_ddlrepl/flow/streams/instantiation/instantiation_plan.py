"""An instantiation plan says which source tables an apply process needs with their rows, and how these come to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Identity, Table
from airflow_ddlrepl.ports.row_layout import ColumnLayout, Layout
from airflow_ddlrepl.streams.messages import MessageClass
from airflow_ddlrepl.streams.queue.insert_route import InsertRoute, Outcome, table_of
from airflow_ddlrepl.streams.queue.lcr_batch import LcrBatch
from airflow_ddlrepl.streams.rules.client import Client, ClientKind

_HEAD = {"lsn": pa.int64(), "seq": pa.int64(), "op": pa.int8(), "before": pa.int8(), "absent": pa.binary()}


@dataclass(frozen=True)
class Way:
    """A way is one route with the source table whose rows take it.

    outcomes: what may become of them. former: names that the table had, under which the log may have changes of it.
    """

    table: Table
    route: InsertRoute
    outcomes: tuple[Outcome, ...]
    former: frozenset[TableName] = frozenset()

    @property
    def queued(self) -> set[TableName]:
        """Return the names that the table may have in the queue of the apply process."""
        return {one.queued for one in self.outcomes}

    def at(self, table: Table) -> Way:
        """Return the way of the table in another shape."""
        former = self.former | {self.table.name}
        return way_of(table, self.route, former - {table.name})

    def former_queued(self) -> set[TableName]:
        """Return the names that the table may have had in the queue of the apply process."""
        ways = [way_of(self.table.with_(name=name), self.route) for name in self.former]
        return {name for way in ways for name in way.queued} - self.queued

    def is_unchanged(self, outcome: Outcome) -> bool:
        """Return whether an outcome has all columns of the table under their names, and the table's own name."""
        names = {one.name for one in outcome.batch.layout.columns}
        return table_of(outcome.batch) == self.table.name and names == {one.name for one in stored(self.table)}


def way_of(table: Table, route: InsertRoute, former: frozenset[TableName] = frozenset()) -> Way:
    """Return the way of a table on a route."""
    return Way(table, route, tuple(route.outcomes(without_rows(table))), former)


@dataclass
class Group:
    """A group has the ways whose rows may come into the same tables of the target: they are loaded together."""

    ways: list[Way]

    @cached_property
    def tables(self) -> set[TableName]:
        """Return the names of the source's tables."""
        return {way.table.name for way in self.ways}

    @property
    def destinations(self) -> set[TableName]:
        """Return the names of the target's tables, as far as no function decides about them."""
        return {table_of(one.batch) for way in self.ways for one in way.outcomes}

    @property
    def calls_functions(self) -> bool:
        """Return whether a function may send rows anywhere."""
        return any(not one.is_certain for way in self.ways for one in way.outcomes)


@dataclass(frozen=True)
class Known:
    """This is what a target has already. queued: tables by their names in the queue; tables: by those at the source."""

    queued: frozenset[TableName]
    tables: frozenset[TableName]


def groups_of(clients: StreamsClients, client: Client, known: Known, tables: Iterable[Table]) -> list[Group]:
    """Return what an apply process needs of these tables, in groups that can be loaded one by one.

    Raises ApplyError APL-132 for a table that has the name of an earlier one in the queue.
    """
    routes = list(insert_routes(clients, client))
    former = _former_names(clients)
    found = []
    for table in tables:
        for route in routes:
            way = way_of(table, route, frozenset(former.get(table.id, ())))
            if way.queued & known.queued and table.name not in known.tables:
                raise _came_before(way, client)
            if not way.queued <= known.queued:
                found.append(way)
    return _grouped(found)


def without_dropped(
    known: Known,
    routes: Sequence[InsertRoute],
    tables: Iterable[Table],
    existing: Callable[[Collection[TableName]], Collection[TableName]],
) -> Known:
    """Return what a target has, without the tables that it had and has no more: they are to be loaded again.

    existing: which of some tables the target has.
    """
    ways = [way_of(table, route) for table in tables if table.name in known.tables for route in routes]
    ways = [way for way in ways if way.outcomes and all(one.is_certain for one in way.outcomes)]
    there = existing({table_of(one.batch) for way in ways for one in way.outcomes})
    gone = [way for way in ways if not any(table_of(one.batch) in there for one in way.outcomes)]
    queued = {name for way in gone for name in way.queued}
    return Known(known.queued - queued, known.tables - {way.table.name for way in gone})


def _former_names(clients: StreamsClients) -> dict[int, set[TableName]]:
    """Return the names that tables had, by table, without those that tables have now."""
    run = clients.run
    now = {table.name for table in clients.tables}
    found: dict[int, set[TableName]] = {}
    for one in run.repository.revisions(run.channel.name):
        if one.table is not None and one.table.name not in now:
            found.setdefault(one.table_id, set()).add(one.table.name)
    return found


def insert_routes(clients: StreamsClients, client: Client) -> Iterator[InsertRoute]:
    """Yield the routes from every capture to an apply process. Raises RuleError RUL-141 and RUL-142."""
    clients.require_fed(client)
    for chain, message_class in _chains(clients, client.queue):
        yield InsertRoute([clients.rules(one) for one in (*chain, client)], message_class, clients.values)


def _chains(clients: StreamsClients, queue: str) -> Iterator[tuple[tuple[Client, ...], MessageClass]]:
    captures = [] if clients.capture is None else [(clients.capture, MessageClass.CAPTURED)]
    captures += [(one, MessageClass.PERSISTENT) for one in clients.of_kind(ClientKind.SYNC_CAPTURE)]
    for client, message_class in captures:
        if client.queue == queue:
            yield (client,), message_class
    for client in clients.of_kind(ClientKind.PROPAGATION):
        if client.destination == queue:
            for chain, message_class in _chains(clients, client.queue):
                yield (*chain, client), message_class


def stored(table: Table) -> list[Column]:
    """Return the columns whose values are in the log: the server computes the others."""
    return [column for column in table.columns if not column.generated]


def without_rows(table: Table) -> LcrBatch:
    """Return a batch of inserts into a table, in its shape of now, without any."""
    keys = set(table.key.columns) if table.key is not None and table.identity is not Identity.NOTHING else set()
    is_whole = table.identity is Identity.FULL
    columns = stored(table)
    layout = Layout(
        table.id,
        table.name.schema,
        table.name.name,
        table.identity,
        tuple(ColumnLayout(c.name, c.type.id, c.type.modifier, is_whole or c.id in keys, "text") for c in columns),
        table,
    )
    fields = [*_HEAD.items(), *((f"a_{column.name}", pa.string()) for column in columns)]
    return LcrBatch(layout, pa.schema(fields).empty_table())


def _grouped(ways: Sequence[Way]) -> list[Group]:
    """Return the ways in groups without a common destination; in one where a function decides on destinations."""
    groups = [Group([way]) for way in ways]
    if any(group.calls_functions for group in groups):
        return [Group(list(ways))]
    owners: dict[TableName, Group] = {}
    for group in groups:
        for other in {id(one): one for name in _names(group) if (one := owners.get(name)) is not None}.values():
            group.ways[:0] = other.ways
        owners.update(dict.fromkeys(_names(group), group))
    return list({id(one): one for one in owners.values()}.values())


def _names(group: Group) -> set[TableName]:
    """Return the names that a group shares with no other one: partitions come with their partitioned table."""
    parents = {way.table.partition.of_name for way in group.ways if way.table.partition is not None}
    return group.destinations | parents


def _came_before(way: Way, client: Client) -> ApplyError:
    queued = ", ".join(map(str, sorted(way.queued)))
    return ApplyError(
        f"another table has come to apply process {client.name} as {queued}, and {way.table.name} comes later",
        code="APL-132",
        table=way.table.name,
        hint="let the apply process rename it, in place of the capture process or a propagation: then each table has"
        " its position",
    )
