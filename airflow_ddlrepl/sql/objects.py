"""This module tells the base object of a statement from the object that is derived from it."""

from __future__ import annotations

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.sql.names import WITH_BASE, Reading
from airflow_ddlrepl.sql.words import Named


def base_and_derived(
    reading: Reading, schema: str, known_base: TableName | None = None
) -> tuple[TableName | None, TableName | None]:
    """Return the base object and the derived one, each None where there is none.

    schema: of names without one. known_base: the table of an index or trigger whose statement does not name it.
    """
    first = reading.objects[0] if reading.objects else None
    if reading.is_rename:
        return _name(reading.new_names[0], schema), _name(first, schema)
    if reading.object_type not in WITH_BASE:
        return _name(first, schema), None
    base = _name(reading.base, schema) or known_base
    return base, _name(first, base.schema if base is not None else schema)


def _name(named: Named | None, schema: str) -> TableName | None:
    return None if named is None else TableName(named.schema or schema, named.name)
