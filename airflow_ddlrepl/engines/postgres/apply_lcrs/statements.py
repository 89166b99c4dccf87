"""This module writes the statement that applies a row LCR: values are parameters, never part of the text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from airflow_ddlrepl.engines.postgres.apply_lcrs.table_layout import TableLayout, TargetColumn
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.streams.messages import Command, MessageClass, RowLcr


class Statement(NamedTuple):
    """A statement is a text with `%s` for each of its parameters. It has to change, or to find, exactly one row."""

    text: str
    parameters: Sequence[Any]


class RowPlace(NamedTuple):
    """A row's place is the condition that finds it, and the condition's parameters."""

    condition: str
    parameters: list[Any]


def table_of(lcr: RowLcr) -> TableName:
    """Return the name of an LCR's table at the target. Raises ApplyError APL-104 where the LCR does not name it."""
    if not lcr.owner or not lcr.name:
        raise ApplyError(
            f"an LCR names no table: {lcr.owner}.{lcr.name}",
            code="APL-104",
            hint="a transformation or a handler has taken its owner or name away",
        )
    return TableName(lcr.owner, lcr.name)


def statement_of(lcr: RowLcr, layout: TableLayout, key_columns: Collection[str]) -> Statement:
    """Return the statement that applies an LCR with texts as its values.

    Raises ApplyError APL-104 for a column that the target's table does not have, APL-105 for an LCR without the values
    that find its row.
    """
    name = table_of(lcr)
    match lcr.command:
        case Command.INSERT:
            return _insert(name, lcr, layout)
        case Command.UPDATE:
            return _update(name, lcr, layout, key_columns)
    place = row_place(lcr, layout, key_columns)
    return Statement(f"DELETE FROM {_table(name)} t WHERE {place.condition}", place.parameters)


def _insert(name: TableName, lcr: RowLcr, layout: TableLayout) -> Statement:
    columns = [one for one in _columns(name, lcr.new, layout) if not one.is_generated]
    if not columns:
        return Statement(f"INSERT INTO {_table(name)} DEFAULT VALUES", [])
    override = " OVERRIDING SYSTEM VALUE" if any(one.is_identity for one in columns) else ""
    names, values = ", ".join(_name(one.name) for one in columns), ", ".join(map(_value, columns))
    text = f"INSERT INTO {_table(name)} ({names}){override} VALUES ({values})"
    return Statement(text, [lcr.new[one.name] for one in columns])


def _update(name: TableName, lcr: RowLcr, layout: TableLayout, key_columns: Collection[str]) -> Statement:
    place = row_place(lcr, layout, key_columns)
    columns = [one for one in _columns(name, lcr.new, layout) if _is_set(one, lcr)]
    if not columns:  # the row has to be there all the same
        return Statement(f"SELECT FROM {_table(name)} t WHERE {place.condition} FOR UPDATE", place.parameters)
    sets = ", ".join(f"{_name(one.name)} = {_value(one)}" for one in columns)
    values = [lcr.new[one.name] for one in columns]
    return Statement(f"UPDATE {_table(name)} t SET {sets} WHERE {place.condition}", [*values, *place.parameters])


def _is_set(column: TargetColumn, lcr: RowLcr) -> bool:
    """Return whether an update sets a column: not one that the server computes, nor an identity that stays."""
    if column.is_identity:
        return bool(lcr.new[column.name] != lcr.old.get(column.name, lcr.new[column.name]))
    return not column.is_generated


def row_place(lcr: RowLcr, layout: TableLayout, key_columns: Collection[str]) -> RowPlace:
    """Return the condition that finds an LCR's row.

    It is the primary key of the target's table if the LCR has that, else the source's key, else all old values: then
    it is one of the rows that have them. Raises ApplyError APL-104 and APL-105.
    """
    name = table_of(lcr)
    old = row_values(lcr)
    # A log that has whole old rows calls every column of a table without a key a part of it.
    source_key = () if set(key_columns) == set(old) else tuple(key_columns)
    for key in (layout.key, source_key):
        if key and all(column in old for column in key):
            found = _columns(name, {column: old[column] for column in key}, layout)
            parts = [
                f"t.{_name(one.name)} IS NULL"
                if old[one.name] is None
                else f"t.{_name(one.name)} {one.equals.replace('%', '%%')} {_value(one)}"
                for one in found
            ]
            return RowPlace(" AND ".join(parts), [old[one.name] for one in found if old[one.name] is not None])
    if not lcr.old:
        missing = ", ".join(layout.key or key_columns) or "a row without a key"
        raise ApplyError(
            f"the LCR has no old values that find its row ({missing})",
            code="APL-105",
            table=name,
            hint="the source's table needs a key, or REPLICA IDENTITY FULL; a transformation must leave the key",
        )
    return _whole_row(name, lcr, layout)


def row_values(lcr: RowLcr) -> Mapping[str, Any]:
    """Return the values by which an LCR's row is found at the target.

    A log has the old key only where the key changes: a missing old value of a captured update is the new one.
    """
    if lcr.command is Command.INSERT:
        return lcr.new
    if lcr.command is Command.UPDATE and lcr.message_class is MessageClass.CAPTURED:
        return {**lcr.new, **lcr.old}
    return lcr.old


def _whole_row(name: TableName, lcr: RowLcr, layout: TableLayout) -> RowPlace:
    """Return the condition that finds one of the rows with all old values: byte by byte, whatever their types."""
    columns = [one for one in _columns(name, lcr.old, layout) if not one.is_generated]
    left = ", ".join(f"o.{_name(one.name)}" for one in columns)
    right = ", ".join(f"%s::{one.stored_type.replace('%', '%%')}" for one in columns)
    same = f"pg_catalog.record_image_eq(ROW({left}), ROW({right}))"
    one_row = f"SELECT o.tableoid, o.ctid FROM {_table(name)} o WHERE {same} LIMIT 1"
    return RowPlace(f"(t.tableoid, t.ctid) = ({one_row})", [lcr.old[one.name] for one in columns])


def _columns(name: TableName, values: Mapping[str, Any], layout: TableLayout) -> list[TargetColumn]:
    missing = [column for column in values if column not in layout.columns]
    if missing:
        raise ApplyError(
            f"the target's table has no column {', '.join(missing)}",
            code="APL-104",
            table=name,
            hint="add it there, or take it out of the LCRs: delete_column, or a handler",
        )
    return [layout.columns[column] for column in values]


def _value(column: TargetColumn) -> str:
    return f"%s::{column.type.replace('%', '%%')}"


def _name(name: str) -> str:
    return quote(name).replace("%", "%%")


def _table(name: TableName) -> str:
    return qualified(name).replace("%", "%%")
