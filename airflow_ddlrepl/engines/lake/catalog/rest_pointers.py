"""This module is the port of pointers for a catalog that a REST server has; `publishing` asks the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.catalog.intents.renames import beside, in_order
from airflow_ddlrepl.engines.lake.catalog.metadata import content, with_summary
from airflow_ddlrepl.engines.lake.catalog.port import Move, Pointers
from airflow_ddlrepl.engines.lake.catalog.rest_views import RestViews
from airflow_ddlrepl.engines.lake.catalog.views import Views
from airflow_ddlrepl.engines.lake.connection.conflicts import name_taken
from airflow_ddlrepl.engines.lake.connection.location import Location
from airflow_ddlrepl.engines.lake.connection.rest_server import RestServer
from airflow_ddlrepl.engines.lake.rest.client import RestClient
from airflow_ddlrepl.engines.lake.rest.differences import change
from airflow_ddlrepl.engines.lake.rest.marks import NAMESPACE
from airflow_ddlrepl.engines.lake.rest.publication import publication
from airflow_ddlrepl.model.names import TableName


@dataclass(frozen=True, slots=True)
class RestPointers(Pointers):
    """These pointers are a REST server's."""

    place: Location
    server: RestServer

    @property
    def client(self) -> RestClient:
        """Return what asks the server."""
        return RestClient(self.server)

    @property
    def views(self) -> Views | None:
        return RestViews(self.client) if self.client.has_views else None

    def of(self, connection: Connection, name: TableName) -> str | None:
        published = publication(connection).now
        if name in published:
            return published[name]
        found = self.client.table(name)
        return None if found is None else str(found["metadata-location"])

    def kinds(self, connection: Connection) -> dict[TableName, str]:
        schemas = [one for one in self.client.namespaces() if one != NAMESPACE]
        found = {name: "table" for schema in schemas for name in self.client.tables(schema)}
        if self.client.has_views:
            found |= {name: "view" for schema in schemas for name in self.client.views(schema)}
        to_publish = publication(connection)
        gone = to_publish.held | to_publish.now.keys()
        tables = {name: "table" for name, metadata in to_publish.now.items() if metadata is not None}
        views = {name: "view" for name, _ in to_publish.steps.shown}
        return {**{name: kind for name, kind in found.items() if name not in gone}, **tables, **views}

    def publish(self, connection: Connection, window: str, moves: Sequence[Move]) -> dict[TableName, str]:
        found, files = publication(connection), self.place.files
        found.window = window
        taken = {one.origin for one in moves if one.origin is not None} | found.held | found.now.keys()
        for move in moves:
            base = content(move.base, files)
            if move.name is None:
                assert move.origin is not None
                found.changes[move.origin] = change(move.origin, base, base)
                found.steps.dropped.append((base["table-uuid"], move.origin))
                continue
            if move.origin != move.name and move.name not in taken and self.of(connection, move.name) is not None:
                raise name_taken(move.name)
            at = move.origin or (beside(move.name) if move.name in taken else move.name)
            if move.origin is None:
                found.steps.made.append((base["table-uuid"], at, move.base))
            if at != move.name:
                found.steps.renamed.append((base["table-uuid"], at, move.name))
            made = change(at, base, with_summary(content(move.now, files), base, move.summary), move.ours)
            if made["updates"] or at != move.name:
                found.changes[at] = made
        found.steps.renamed = in_order(found.steps.renamed)
        now = {move.name: move.now for move in moves if move.name is not None}
        found.now |= {**dict.fromkeys(taken - found.held), **now}
        return now

    def remove(self, connection: Connection, name: TableName) -> None:
        if (there := self.client.table(name)) is not None:
            found = publication(connection)
            found.changes[name] = change(name, there["metadata"], there["metadata"])
            found.steps.dropped.append((there["metadata"]["table-uuid"], name))
            found.now[name] = None
