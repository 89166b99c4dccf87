"""An existing table of a target gets the source's identities: its columns and types are matched by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.base.same_shape import same_type
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.ports.types import TypeSystem


def as_seen(existing: Table, wanted: Table) -> Table:
    """Return the inspected target table with the ids of `wanted`: columns and types are matched by name.

    Columns that `wanted` lacks get negative ids. What only matters at the source (identity, logging) is
    taken from `wanted`.
    """
    ids = _column_ids(existing, wanted)
    types = {(t.schema, t.name): t for t in wanted.types}
    columns = tuple(sorted((_column(c, ids[c.id], wanted) for c in existing.columns), key=lambda c: c.id))
    return wanted.with_(
        name=existing.name,
        columns=columns,
        key=_key(existing.key, ids),
        second_key=_key(existing.second_key, ids),
        partition=replace(existing.partition, of=wanted.partition.of if wanted.partition else existing.partition.of)
        if existing.partition
        else None,
        partition_key=existing.partition_key,
        types=tuple(_definition(t, types.get((t.schema, t.name))) for t in existing.types),
    )


def differences(existing: Table, wanted: Table, types: TypeSystem) -> tuple[SchemaChange, ...]:
    """Return the changes that still lead from an inspected target table to the shape it should have; empty: none."""
    return diff(as_seen(existing, wanted), wanted, types)


def _column_ids(existing: Table, wanted: Table) -> dict[int, int]:
    """Return, for each column of the existing table, the id of the same column of `wanted`; negative: there is none.

    Where a type has to change, a generated column is none of `wanted`'s: it would be in the way.
    """
    known = {c.name: c for c in wanted.columns}
    retyped = any(c.name in known and not same_type(c.type, known[c.name].type) for c in existing.columns)
    staying = {c.name for c in existing.columns if c.name in known and not (c.generated and retyped)}
    return {c.id: known[c.name].id if c.name in staying else -c.id for c in existing.columns}


def _key(key: Key | None, ids: Mapping[int, int]) -> Key | None:
    return replace(key, columns=tuple(ids[i] for i in key.columns)) if key else None


def _column(column: Column, column_id: int, wanted: Table) -> Column:
    column = replace(column, id=column_id)
    twin = next((c for c in wanted.columns if c.id == column_id), None)
    if twin is None:
        return column
    return replace(column, type=twin.type if same_type(column.type, twin.type) else column.type, missing=twin.missing)


def _definition(found: TypeDefinition, twin: TypeDefinition | None) -> TypeDefinition:
    if twin is None:
        return found
    ids = {a.name: a.id for a in twin.attributes}
    attributes = tuple(replace(a, id=ids.get(a.name, -a.id)) for a in found.attributes)
    return replace(found, id=twin.id, attributes=attributes)
