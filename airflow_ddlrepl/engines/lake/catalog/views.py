"""This module is the port of a catalog's views: each shows a partitioned table, whose rows are in other tables."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from airflow_ddlrepl.model.names import TableName


@dataclass(frozen=True, slots=True)
class View:
    """A view has columns and a query in the SQL of Spark.

    columns: each with Iceberg's name of its type. known_as: by what the catalog knows the view that it has.
    """

    name: TableName
    columns: tuple[tuple[str, str], ...]
    query: str
    known_as: str = field(default="", compare=False)

    @classmethod
    def of(cls, name: TableName, metadata: Mapping[str, Any], known_as: str) -> View:
        """Return what the metadata of a view of ours says."""
        now = next(one for one in metadata["versions"] if one["version-id"] == metadata["current-version-id"])
        schema = next(one for one in metadata["schemas"] if one["schema-id"] == now["schema-id"])
        columns = tuple((one["name"], one["type"]) for one in schema["fields"])
        return cls(name, columns, "".join(one["sql"] for one in now["representations"]), known_as)

    @property
    def schema(self) -> dict[str, Any]:
        """Return the schema as the metadata of views has it."""
        fields = [
            {"id": i, "name": name, "required": False, "type": of} for i, (name, of) in enumerate(self.columns, 1)
        ]
        return {"type": "struct", "schema-id": 0, "fields": fields}

    @property
    def version(self) -> dict[str, Any]:
        """Return the one version as the metadata of views has it."""
        return {
            "version-id": 1,
            "timestamp-ms": int(time.time() * 1000),
            "schema-id": 0,
            "summary": {"engine-name": "ddlrepl"},
            "default-namespace": [self.name.schema],
            "representations": [{"type": "sql", "sql": self.query, "dialect": "spark"}],
        }


class Views(ABC):
    """These are the views of a catalog. mark: tells a channel's from those of others."""

    @abstractmethod
    def has(self, connection: Connection, name: TableName) -> bool:
        """Is there a view of this name?"""

    @abstractmethod
    def take(self, connection: Connection, names: Iterable[TableName], mark: str) -> dict[TableName, View]:
        """Return the channel's views by their names, which they leave to tables until they are shown.

        names: those that its views may have.
        """

    @abstractmethod
    def show(self, connection: Connection, before: Mapping[TableName, View], wanted: Sequence[View], mark: str) -> None:
        """Have readers see these views, and no other one of those before, from the end of the open transaction on.

        Raises CannotAdapt ADP-104 where something else has the name of a view.
        """
