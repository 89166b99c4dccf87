"""What exists at a target of files."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.errors import StrangeOwner
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_object import TableObject
from airflow_ddlrepl.ports.types import TypeSystem
from tests.conformance.file_engine.files import Files
from tests.conformance.file_engine.types import FILE_TYPES


@dataclass
class FileFacts(ServerFacts):
    """Types are texts here, so that every type is there; and no extension is."""

    files: Files
    version: int = 18
    extensions: frozenset[str] = frozenset()
    type_system: TypeSystem = FILE_TYPES
    traits: None = None

    def table(self, name: TableName) -> Table | None:
        found = self.files.read(name)
        return found.shape if found else None

    def look(self, names: Collection[TableName]) -> None:
        return None

    def strange(self, functions: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        return frozenset()

    def objects(self, names: Collection[TableName]) -> list[TableObject]:
        return []

    def broken_references(self, names: Collection[TableName]) -> list[tuple[TableName, str]]:
        return []

    def filled_partitions(
        self, tables: Collection[TableName], known: Collection[TableName]
    ) -> list[tuple[TableName, TableName]]:
        return []

    def has_collation(self, name: str) -> bool:
        return True

    def has_builtin(self, name: str) -> bool:
        return True

    def types(self, names: Collection[TableName]) -> frozenset[TableName]:
        return frozenset(names)

    def owned_by_strangers(self, tables: Collection[Table]) -> dict[TableName, StrangeOwner]:
        return {}

    def has_rows(self, name: TableName) -> bool:
        found = self.files.read(name)
        return bool(found and found.rows)


@dataclass
class EmptiedFacts(FileFacts):
    """When all tables are gone."""

    def table(self, name: TableName) -> Table | None:
        return None

    def has_rows(self, name: TableName) -> bool:
        return False
