"""This module numbers keys whose equality only the target knows (citext, interval, case-blind collations, …)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_ddlrepl.ddl.sql.respell import Moves, respelled_text, respelled_types
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.connection.settings import SCHEMA
from airflow_ddlrepl.engines.postgres.ddl.types import create_types
from airflow_ddlrepl.engines.postgres.merge.copy_arrow import drop_stages, load
from airflow_ddlrepl.engines.postgres.merge.staging_tables import StagedColumn
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.types import TypeDefinition, TypeKind

if TYPE_CHECKING:
    from airflow_ddlrepl.integrate.netting.equality import Ints


def numbered(
    cursor: Any, name: str, values: pa.Table, columns: Sequence[StagedColumn], types: Sequence[TypeDefinition]
) -> Ints:
    """Return numbers for keys, equal where the target finds the keys equal.

    name: of a staging table to use. values: those of the columns.
    The types of users in a key are made for it, as the source has defined them: those of the target are not what they
    will be when the rows are merged, while schema changes between them are to come.
    """
    moves = _of_ours(types, name)
    keys = [_respelled(column, moves) for column in columns]
    made = [_bare(of) for of in respelled_types(types, moves)] if keys != list(columns) else []
    for statement in create_types(made):
        cursor.execute(statement)
    rows = values.append_column("i", pa.array(range(values.num_rows), pa.int64()))
    load(cursor, name, [*((column.staged_name, column.staging_type) for column in keys), ("i", "int8")], rows)
    order = ", ".join(_comparable(column) for column in keys)
    table = qualified(TableName(SCHEMA, name))
    cursor.execute(f"SELECT dense_rank() OVER (ORDER BY {order}) FROM {table} s ORDER BY s.i")
    numbers: Ints = cursor.fetch_arrow_table().column(0).to_numpy()
    drop_stages(cursor, [name])
    for of in reversed(made):
        if of.kind is not TypeKind.MULTIRANGE:  # it goes with its range
            cursor.execute(f"DROP TYPE {qualified(TableName(of.schema, of.name))}")
    return numbers


def _of_ours(types: Sequence[TypeDefinition], name: str) -> Moves:
    """Return names of our own for the types of users."""
    stem = f"t_{hashlib.sha256(name.encode()).hexdigest()[:16]}_"
    return {(of.schema, of.name): (SCHEMA, f"{stem}{of.id}") for of in types}


def _respelled(column: StagedColumn, moves: Moves) -> StagedColumn:
    staging, target, cast = (
        respelled_text(text, moves) for text in (column.staging_type, column.target_type, column.cast)
    )
    return replace(column, staging_type=staging, target_type=target, cast=cast)


def _bare(of: TypeDefinition) -> TypeDefinition:
    """Return the definition of a type without its checks, its NOT NULL and its default."""
    return replace(of, constraints=(), not_null=False, default=None)


def _comparable(column: StagedColumn) -> str:
    collation = f" COLLATE {column.collation}" if column.collation else ""
    return f"{column.image('s')}{collation}"
