"""This module is the port of views for a catalog that a REST server has: they come and go after a window's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.catalog.views import View, Views
from airflow_ddlrepl.engines.lake.connection.conflicts import name_taken
from airflow_ddlrepl.engines.lake.rest.client import RestClient
from airflow_ddlrepl.engines.lake.rest.publication import Publication, publication
from airflow_ddlrepl.model.names import TableName

_MARK = "ddlrepl.channel"
"""The property of a view that names the channel whose view it is."""


@dataclass(frozen=True, slots=True)
class RestViews(Views):
    """These views are a REST server's."""

    client: RestClient

    def has(self, connection: Connection, name: TableName) -> bool:
        return self.client.view(name) is not None

    def take(self, connection: Connection, names: Iterable[TableName], mark: str) -> dict[TableName, View]:
        found = {}
        for name in names:
            there = self.client.view(name)
            if there is not None and there["metadata"].get("properties", {}).get(_MARK) == mark:
                found[name] = View.of(name, there["metadata"], there["metadata"]["view-uuid"])
        publication(connection).held = frozenset(found)
        return found

    def show(self, connection: Connection, before: Mapping[TableName, View], wanted: Sequence[View], mark: str) -> None:
        as_before = {one.name for one in wanted if before.get(one.name) == one}
        to_publish = publication(connection)
        to_publish.held -= as_before
        to_publish.steps.hidden += [(before[name].known_as, name) for name in sorted(before.keys() - as_before)]
        for one in wanted:
            if one.name in as_before:
                continue
            if one.name not in before and self._is_taken(to_publish, one.name):
                raise name_taken(one.name)
            request = {
                "name": one.name.name,
                "schema": one.schema,
                "view-version": one.version,
                "properties": {_MARK: mark},
            }
            to_publish.steps.shown.append((one.name, request))

    def _is_taken(self, to_publish: Publication, name: TableName) -> bool:
        """Has another view this name, or a table that has it after the window, too?"""
        is_table = to_publish.now[name] if name in to_publish.now else self.client.table(name)
        return is_table is not None or self.client.view(name) is not None
