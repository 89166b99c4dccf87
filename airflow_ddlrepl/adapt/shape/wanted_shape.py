"""The shape that the target table shall have, given what stands and what the policies keep."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.adapt.ddl_rows import has_default
from airflow_ddlrepl.adapt.policy import Policy
from airflow_ddlrepl.adapt.shape.keep_structure import keep_structure
from airflow_ddlrepl.config.sections.policies import OnAddColumnWithDefault
from airflow_ddlrepl.ddl.types import casts
from airflow_ddlrepl.model.table import Column, Table

# what a mandatory column shows in rows that stand, where the policy doesn't want the source's default
EMPTY = {
    **dict.fromkeys((casts.INT2, casts.INT4, casts.INT8, casts.FLOAT4, casts.FLOAT8, casts.NUMERIC), "0"),
    **dict.fromkeys((casts.TEXT, casts.VARCHAR, casts.BPCHAR, casts.NAME, casts.BYTEA, casts.VARBIT), "''"),
    casts.BOOL: "false",
    casts.DATE: "'1970-01-01'::date",
    casts.TIMESTAMP: "'1970-01-01'::timestamp",
    casts.TIMESTAMPTZ: "'1970-01-01 00:00:00+00'::timestamptz",
    casts.TIME: "'00:00'::time",
    casts.INTERVAL: "'0'::interval",
    casts.UUID: "'00000000-0000-0000-0000-000000000000'::uuid",
    casts.JSON: "'null'::json",
    casts.JSONB: "'null'::jsonb",
}


def want(table_state: Table, held: Table, policy: Policy) -> Table:
    """table_state: the target table now. held: the source's new shape as the target holds it."""
    if not policy.adapts:
        return table_state
    wanted = keep_structure(table_state, held) if policy.keep_existing_structure else held
    if policy.on_add_column_with_default in (OnAddColumnWithDefault.FILL, OnAddColumnWithDefault.REFRESH):
        return wanted
    before = {c.id: c for c in table_state.columns}
    return wanted.with_(columns=tuple(_plain_default(c, before.get(c.id)) for c in wanted.columns))


def _plain_default(column: Column, before: Column | None) -> Column:
    if column.generated or column.identity:
        return column
    if before is not None:
        stays_open = before.nullable and has_default(column) and EMPTY.get(column.type.oid) is None
        return replace(column, default=before.default, nullable=column.nullable or stays_open)
    if not has_default(column):
        return column
    empty = None if column.nullable else EMPTY.get(column.type.oid)
    if empty is None and not column.nullable:
        return replace(column, default=None, missing=None, nullable=True)
    return replace(column, default=empty, missing=None)
