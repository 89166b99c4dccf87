"""This module implements the port of types for PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.postgres.types import casts
from airflow_ddlrepl.engines.postgres.types.equality import equality
from airflow_ddlrepl.engines.postgres.types.families import family, of_family
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeFamily
from airflow_ddlrepl.ports.types import Cast, Equality, Held, TypeSystem


class PostgresTypes(TypeSystem):
    """This type system has the types of PostgreSQL; those of pg_catalog have the same oid on every server."""

    @property
    def text(self) -> DataType:
        return casts.PLAIN_TEXT

    def family(self, of: DataType, types: Sequence[TypeDefinition] = ()) -> TypeFamily:
        return family(of, tuple(types))

    def representation(self, of: TypeFamily) -> Held:
        return of_family(of)

    def has(self, of: DataType) -> bool:
        return (of.is_builtin and of.name != "xml") or of.schema == "information_schema"  # built without libxml

    def cast(self, old: DataType, new: DataType) -> Cast:
        return casts.cast(old, new)

    def explicit_cast(self, old: DataType, new: DataType) -> Cast:
        return casts.explicit_cast(old, new)

    def cast_by_text(self, old: DataType, new: DataType) -> Cast:
        return casts.cast_by_text(old, new)

    def widens(self, old: DataType, new: DataType) -> bool:
        return casts.widens(old, new)

    def holds_any_text(self, of: DataType) -> bool:
        return casts.element(of) == casts.TEXT

    def is_exact_number(self, of: DataType) -> bool:
        return casts.is_exact_number(of)

    def empty_value(self, of: DataType) -> str | None:
        return casts.empty_value(of)

    def equality(self, column: Column, encoding: str, types: Sequence[TypeDefinition] = ()) -> Equality:
        return equality(column, encoding, types)


POSTGRES_TYPES = PostgresTypes()
