"""PostgreSQL's types behind the port of types."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.postgres.types.equality import equality
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.ports.types import Equality, TypeSystem


class PostgresTypes(TypeSystem):
    """The types of PostgreSQL; those of pg_catalog have the same oid on every server."""

    def equality(self, column: Column, encoding: str, types: Sequence[TypeDefinition] = ()) -> Equality:
        return equality(column, encoding, types)


POSTGRES_TYPES = PostgresTypes()
