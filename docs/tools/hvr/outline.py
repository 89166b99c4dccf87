"""In place of an engine's SQL: the changes by their names, where a plan is made for nobody's target."""

from __future__ import annotations

from airflow_ddlrepl.adapt.target_facts import About, Renderer
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.tables.change_logging import ChangeLogging
from airflow_ddlrepl.ddl.tables.change_replica_identity import ChangeReplicaIdentity
from airflow_ddlrepl.ddl.types.create_type import ForgetType
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import TypeDefinition

# of what no target hears
_UNHEARD = (ChangeLogging, ChangeReplicaIdentity, ForgetType)


class _Outline(Renderer):
    engine = "outline"

    def sql(self, change: SchemaChange, before: Table | None) -> tuple[str, ...]:
        return () if isinstance(change, _UNHEARD) else (str(change),)

    def rows_into(self, table: TableName, of: Table) -> tuple[str, ...]:
        return (f"rows of {of.name} into {table}",)

    def unless_done(self, sql: tuple[str, ...]) -> tuple[str, ...]:
        return sql

    def make_way(self, of: TypeDefinition) -> tuple[str, ...]:
        return (f"type {of.name} makes way",)

    def of_its_type(self, column: Column, table: Table) -> tuple[str, ...]:
        return ()

    def in_time_zone(self, zone: str, sql: tuple[str, ...]) -> tuple[str, ...]:
        return sql

    def replayed_text(self, text: str, path: str, zone: str | None, about: About) -> tuple[str, ...]:
        return (text,)


OUTLINE: Renderer = _Outline()
