"""With keep_existing_structure, the target never loses a column and never gets a narrower one."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.ddl.base.edit import free_name
from airflow_ddlrepl.ddl.columns.change_type import Extent, extent_between
from airflow_ddlrepl.ddl.sql.type_text import respell
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.ports.types import TypeSystem


def keep_structure(existing: Table, wanted: Table, types: TypeSystem) -> Table:
    """Return the wanted shape with the columns that would be dropped (nullable now), and no type narrower than it is.

    A retained column is renamed where a new one gets its name: `_kept` is appended.
    """
    staying = {c.id: _as_wide(existing, c, types) for c in wanted.columns}
    names = {c.name for c in wanted.columns}
    for column in existing.columns:
        if column.id not in staying:
            name = column.name if column.name not in names else free_name(f"{column.name}_kept", names)
            names.add(name)
            staying[column.id] = replace(
                _respelled(column, existing, wanted),
                name=name,
                nullable=True,
                default=None,
                missing=None,
                identity="",
                generated="",
                extra="",
            )
    following = {c.id: c.type for c in wanted.columns}
    has_own_types = any(not c.type.is_builtin and following.get(c.id) != c.type for c in staying.values())
    defined = {t.id: t for t in (*(existing.types if has_own_types else ()), *wanted.types)}
    return wanted.with_(columns=tuple(staying[i] for i in sorted(staying)), types=tuple(defined.values()))


def _respelled(column: Column, existing: Table, wanted: Table) -> Column:
    """Return a retained column under the present name of its type, which may have been renamed."""
    of = column.type
    type_id = next((t.id for t in existing.types if (t.schema, t.name) == (of.schema, of.name)), None)
    now = next(((t.schema, t.name) for t in wanted.types if t.id == type_id), (of.schema, of.name))
    text = respell(of.text, (of.schema, of.name), now)
    return replace(column, type=replace(of, schema=now[0], name=now[1], text=text))


def _as_wide(existing: Table, wanted: Column, types: TypeSystem) -> Column:
    before = {c.id: c for c in existing.columns}.get(wanted.id)
    if before is None:
        return wanted
    return replace(wanted, type=before.type) if extent_between(before, wanted, types) is Extent.NARROW else wanted
