"""This module gives a table the columns that only a target has, as `target_tables` in the channel file says. Pure.

A column whose value follows from the row is one that the target computes (a generated column). One whose value follows
from the change, such as the commit's time, is a plain column that every change sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from zlib import crc32

from airflow_ddlrepl.mapping.own_types import refused, with_own_types
from airflow_ddlrepl.model.settings.table_settings import OwnColumns
from airflow_ddlrepl.model.stored_names import SYSTEM_SCHEMA
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.target_columns import DELETED, DELETED_AT, FIRST_ID, HISTORY_OPERATION
from airflow_ddlrepl.model.types import DataType, TypeKind
from airflow_ddlrepl.notation.column_types import BUILTIN_TYPES
from airflow_ddlrepl.notation.condition.expression import (
    Arithmetic,
    Cast,
    Minus,
    Named,
    Number,
    OfChange,
    Part,
    Spelling,
    Text,
)
from airflow_ddlrepl.notation.condition.parser import change_value, expression, spelled

OF_CHANGE = {
    "commit_time": "timestamp with time zone",
    "operation": "text",
    "position": "bigint",
    "sequence": "bigint",
    "transaction": "bigint",
}
"""The types of the values of a change."""


def builtin_type(text: str) -> DataType:
    """Return the built-in type that is spelled so."""
    name, type_id = BUILTIN_TYPES[text]
    return DataType(text, SYSTEM_SCHEMA, name, id=type_id)


def with_extra_columns(shape: Table, source: Table, own: OwnColumns, *, lenient: bool = False) -> Table:
    """Return the table as it should be at the target, with the columns that only the target has.

    shape: the table there without them, `source` the source's, which has the names that expressions use. lenient: an
    extra column is left out where an expression names a column that the table does not have.
    Raises Unsupported ADP-160 for what a partitioned table or a partition can't have, ADP-161 for a name that another
    column has, ADP-162 for an expression that names a column which the target's table does not have, ADP-163 without a
    key, and what `with_own_types` raises.
    """
    if not own.shapes and not own.discards:
        return shape
    if (source.is_partitioned or source.partition is not None) and (why := _impossible_in_tree(own)):
        raise refused(source, "ADP-160", f"no partitioned table or partition can be as `target_tables` says: {why}",
                       "take it out of the patterns in `tables`")  # fmt: skip
    if own.discards and source.key is None:
        raise refused(source, "ADP-163", "`coerce_error_policy: discard` needs a key, by which a row is found",
                       "add a primary key, or choose `null`")  # fmt: skip
    if own.soft_delete is not None:
        shape = _nullable(shape, source)
    if own.time_key:
        shape = _history(shape)
    shape = with_own_types(shape, source, own, lenient=lenient)
    found = tuple(_columns(shape, source, own, lenient=lenient))
    taken = {column.name for column in shape.columns}
    if clash := next((column.name for column in found if column.name in taken), None):
        raise refused(source, "ADP-161", f"`target_tables` adds a column {clash}, and the table has one of that name",
                       "choose another name for the extra column")  # fmt: skip
    if source.key is None and any(column.extra for column in found):
        raise refused(source, "ADP-163", "`target_tables` lets changes set a column, and no key tells rows apart",
                       "add a primary key, or take the table out of the patterns in `tables`")  # fmt: skip
    return shape.with_(columns=(*shape.columns, *sorted(found, key=lambda column: column.id)))


def _impossible_in_tree(own: OwnColumns) -> str:
    """Return why a partitioned table and its partitions can't be as `target_tables` says; empty: they can."""
    if own.time_key:
        return "a row for a TRUNCATE (`time_key`) has no values, so no partition takes it"
    if own.key:
        return "no index makes `key` unique over all partitions"
    if own.discards:
        return "a row that is discarded is looked for in one table (`coerce_error_policy: discard`)"
    return ""


def with_own_key(source: Table, own: OwnColumns, *, lenient: bool = False) -> Table:
    """Return the source's table with the key that `target_tables` names for the target.

    lenient: it has no key while it lacks a column of that one. Raises Unsupported ADP-162 where
    that is an error, ADP-165 for a column that may be NULL or is generated.
    """
    if not own.key:
        return source
    ours = {column.name: column for column in source.columns}
    lacking = [name for name in own.key if name not in ours]
    if lacking and lenient:
        return source.without_keys()
    if lacking:
        raise refused(source, "ADP-162", f"`key` in `target_tables` names column {lacking[0]}, which the target's"
                       " table does not have", "correct the key: it names the source's columns")  # fmt: skip
    for column in (ours[name] for name in own.key):
        if column.nullable or column.generated:
            why = "may be NULL" if column.nullable else "is generated"
            raise refused(source, "ADP-165", f"`key` in `target_tables` names column {column.name}, which {why}",
                           "make it NOT NULL at the source, or name other columns")  # fmt: skip
    return source.without_keys().with_(key=Key(tuple(ours[name].id for name in own.key), "", is_primary=False))


def value_of(column: Column) -> str:
    """Return the name of the change's value that a column takes; "" for a column that takes none."""
    if not column.extra or column.extra in (DELETED, DELETED_AT):
        return ""
    if column.extra == HISTORY_OPERATION:
        return "operation"
    found = change_value(expression(column.extra))
    return found.name if found else ""


def _nullable(shape: Table, source: Table) -> Table:
    """Return the table for rows that stay: what the source demands of its rows later, old ones need not fulfil."""
    if source.key is None:
        raise refused(source, "ADP-163", "`soft_delete` needs a key, by which a deleted row is found",
                       "add a primary key, or take the table out of the patterns in `tables`")  # fmt: skip
    keys = {number for key in shape.keys for number in key.columns}
    return shape.with_(
        columns=tuple(c if c.id in keys or c.identity else replace(c, nullable=True) for c in shape.columns)
    )


def _history(shape: Table) -> Table:
    """Return the table for one row per change: it has no key, and a row may lack anything."""
    return shape.without_keys().with_(
        columns=tuple(c if c.generated else replace(c, nullable=True, identity="") for c in shape.columns)
    )


def _columns(shape: Table, source: Table, own: OwnColumns, *, lenient: bool) -> Iterator[Column]:
    if own.soft_delete is not None:
        yield Column(_id("", DELETED), own.soft_delete, builtin_type("boolean"), False, "false", "f",
                     extra=DELETED)  # fmt: skip
    if own.deleted_at is not None:
        yield Column(_id("", DELETED_AT), own.deleted_at, builtin_type(OF_CHANGE["commit_time"]),
                     extra=DELETED_AT)  # fmt: skip
    here = {column.id: column for column in shape.columns}
    ours = {column.name: here[column.id] for column in source.columns if column.id in here}
    for name, text in own.extra.items():
        part = expression(text)
        lacking = [one for one in part.names() if one not in ours]
        if lacking and lenient:
            continue
        if lacking:
            raise refused(source, "ADP-162", f"`target_tables` computes column {name} by {text}, and the table has"
                           f" no column {lacking[0]} at the target",
                           "correct the expression: it names the source's columns; where the source renames or drops"
                           " one, write it for the columns after that, and run again")  # fmt: skip
        column = _extra(name, part, ours, source)
        is_operation = own.time_key and text == "{operation}"
        yield replace(column, id=_id("", HISTORY_OPERATION), extra=HISTORY_OPERATION) if is_operation else column


def _extra(name: str, part: Part, ours: Mapping[str, Column], source: Table) -> Column:
    type_ = _type_of(part, ours, source)
    if change_value(part) is not None:
        text = spelled(part)
        return Column(_id(name, text), name, type_, extra=text)
    by = Spelling(lambda column: '"' + ours[column].name.replace('"', '""') + '"', _literal)
    return Column(_id(name, ""), name, type_, default=part.sql(by), generated="stored")


def _type_of(part: Part, ours: Mapping[str, Column], source: Table) -> DataType:
    """Return the type of an expression's values."""
    match part:
        case OfChange(name):
            return builtin_type(OF_CHANGE[name])
        case Cast(_, type_):
            return builtin_type(type_)
        case Number() | Minus() | Arithmetic():
            return builtin_type("numeric")
        case Text():
            return builtin_type("text")
        case Named(name) if ours[name].type.kind is TypeKind.BASE and not ours[name].generated:
            return ours[name].type
        case Named(name):
            raise refused(source, "ADP-162", f"`target_tables` names column {name}, which is computed or of a type of"
                           " its own", "name a column of a built-in type")  # fmt: skip
        case _:
            return builtin_type("boolean")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _id(name: str, value: str) -> int:
    """Return the number of an extra column: the same for one name and value, whatever else the file says."""
    return FIRST_ID + (crc32(f"{name}\0{value}".encode()) & 0x3FFFFFFF)
