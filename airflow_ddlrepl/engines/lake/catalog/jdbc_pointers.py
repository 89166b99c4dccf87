"""This module is the port of pointers for a JDBC catalog: its entries move in the transaction of the position."""

from __future__ import annotations

import json
import secrets
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.catalog.entries import (
    VIEW,
    add_entry,
    kinds_there,
    move_entry,
    pointer,
    remove_entry,
    remove_views,
)
from airflow_ddlrepl.engines.lake.catalog.port import Move, Pointers
from airflow_ddlrepl.engines.lake.catalog.views import View, Views
from airflow_ddlrepl.engines.lake.connection.location import Location
from airflow_ddlrepl.model.names import TableName


@dataclass(frozen=True, slots=True)
class JdbcPointers(Pointers):
    """These pointers are entries of a database."""

    place: Location

    @property
    def views(self) -> Views:
        return JdbcViews(self.place)

    def of(self, connection: Connection, name: TableName) -> str | None:
        return pointer(connection, self.place.catalog, name)

    def kinds(self, connection: Connection) -> dict[TableName, str]:
        return kinds_there(connection, self.place.catalog)

    def publish(self, connection: Connection, window: str, moves: Sequence[Move]) -> dict[TableName, str]:
        catalog = self.place.catalog
        found = {move.name: move.finished(self.place.files) for move in moves if move.name is not None}
        for origin, base in sorted((one.origin, one.base) for one in moves if one.origin and one.origin != one.name):
            remove_entry(connection, catalog, origin, base)
        for move in moves:
            if move.name is None:
                continue
            if move.origin != move.name:
                previous = move.base if move.origin is not None else None
                add_entry(connection, catalog, move.name, found[move.name], previous)
            elif found[move.name] != move.base:
                move_entry(connection, catalog, move.name, move.base, found[move.name])
        return found

    def remove(self, connection: Connection, name: TableName) -> None:
        if (metadata := self.of(connection, name)) is not None:
            remove_entry(connection, self.place.catalog, name, metadata)


@dataclass(frozen=True, slots=True)
class JdbcViews(Views):
    """These views are entries of a database, too; each is known by the path of its metadata file."""

    place: Location

    def has(self, connection: Connection, name: TableName) -> bool:
        return pointer(connection, self.place.catalog, name, is_view=True) is not None

    def take(self, connection: Connection, names: Iterable[TableName], mark: str) -> dict[TableName, View]:
        found = remove_views(connection, self.place.catalog, f"{self._folder(mark)}/")
        return {name: View.of(name, json.loads(self.place.files.read(path)), path) for name, path in found.items()}

    def show(self, connection: Connection, before: Mapping[TableName, View], wanted: Sequence[View], mark: str) -> None:
        for one in wanted:
            known = before.get(one.name)
            path = known.known_as if known == one and known is not None else self._written(one, mark)
            add_entry(connection, self.place.catalog, one.name, path, kind=VIEW)

    def _folder(self, mark: str) -> str:
        return f"{self.place.warehouse}/ddlrepl_views/{mark}"

    def _written(self, view: View, mark: str) -> str:
        """Return the path of a view's metadata file, which is written."""
        folder, version = f"{self._folder(mark)}/v-{secrets.token_hex(4)}", view.version
        metadata = {
            "view-uuid": str(uuid.uuid4()),
            "format-version": 1,
            "location": folder,
            "schemas": [view.schema],
            "current-version-id": version["version-id"],
            "versions": [version],
            "version-log": [{"timestamp-ms": version["timestamp-ms"], "version-id": version["version-id"]}],
            "properties": {},
        }
        path = f"{folder}/metadata/00000-{uuid.uuid4()}.metadata.json"
        with self.place.files.creating(path) as file:
            file.write(json.dumps(metadata).encode())
        return path
