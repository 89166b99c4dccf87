"""The wanted shape of a target table follows from its present shape, the source's new one and the policies."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.adapt.ddl_rows import has_default
from airflow_ddlrepl.adapt.policy import Policy
from airflow_ddlrepl.adapt.shape.keep_structure import keep_structure
from airflow_ddlrepl.config.sections.policies import OnAddColumnWithDefault
from airflow_ddlrepl.model.table import Column, Table, same_or
from airflow_ddlrepl.ports.types import TypeSystem


def wanted_shape(existing: Table, representable: Table, policy: Policy, types: TypeSystem) -> Table:
    """Return the shape that the target table gets under the policies.

    existing: the target table now. representable: the source's new shape as the target holds it. types: of the target.
    """
    if not policy.adapts:
        return existing
    representable = _collated(existing, representable)
    wanted = keep_structure(existing, representable, types) if policy.keep_existing_structure else representable
    if policy.on_add_column_with_default in (OnAddColumnWithDefault.FILL, OnAddColumnWithDefault.REFRESH):
        return wanted
    before = {c.id: c for c in existing.columns}
    columns = same_or(wanted.columns, (_plain_default(c, before.get(c.id), types) for c in wanted.columns))
    return wanted if columns is wanted.columns else wanted.with_(columns=columns)


def _collated(existing: Table, representable: Table) -> Table:
    """Return the held shape with the types that the target has made without their collations, which it lacked then.

    A type's collation never changes; a table has one of a collation only when it is loaded anew with new types.
    """
    plain = {of.id for of in existing.types if of.collation is None}
    if not any(of.id in plain and of.collation is not None for of in representable.types):
        return representable
    return representable.with_(
        types=tuple(replace(of, collation=None) if of.id in plain else of for of in representable.types)
    )


def _plain_default(column: Column, before: Column | None, types: TypeSystem) -> Column:
    if column.generated or column.identity or column.extra:
        return column
    if before is not None:
        stays_open = before.nullable and has_default(column) and types.empty_value(column.type) is None
        if column.default == before.default and (column.nullable or not stays_open):
            return column
        return replace(column, default=before.default, nullable=column.nullable or stays_open)
    if not has_default(column):
        return column
    empty = None if column.nullable else types.empty_value(column.type)
    if empty is None and not column.nullable:
        return replace(column, default=None, missing=None, nullable=True)
    return replace(column, default=empty, missing=None)
