"""What exists at a target of files."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.types import TypeSystem
from tests.conformance.file_engine.files import Files
from tests.conformance.file_engine.types import FILE_TYPES


@dataclass
class FileFacts(ServerFacts):
    """Types are texts here, so that every type is there; and no extension is."""

    files: Files
    type_system: TypeSystem = FILE_TYPES

    def table(self, name: TableName) -> Table | None:
        found = self.files.read(name)
        return found.shape if found else None

    def has_rows(self, name: TableName) -> bool:
        found = self.files.read(name)
        return bool(found and found.rows)
