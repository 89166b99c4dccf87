"""This module gives columns of a target another data type than the source's, as `types` in `target_tables` says. Pure.

A value is read from the text that its type writes: by a change, by a load and in a comparison alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from airflow_ddlrepl.ddl.columns.column_names import mentions
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.mapping.names import used_types
from airflow_ddlrepl.model.settings.table_settings import OwnColumns
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.ports.types import TypeSystem

TEXTS = ("text", "varchar", "bpchar")
_WHOLE = ("int2", "int4", "int8")
_FRACTIONS = ("float4", "float8", "numeric")
_SAME_KEYS = {
    *((one, other) for at, one in enumerate(_WHOLE) for other in _WHOLE[at:]),
    ("varchar", "text"),
    ("text", "text"),
}
"""Types of a key column at the source, and types at the target by which rows are told apart alike."""
_OWN_SPELLING = (*TEXTS, "json", "numeric")
"""Types that show a value as it was written: 1.50 is not 1.5 there."""


def with_own_types(shape: Table, source: Table, own: OwnColumns, *, lenient: bool = False) -> Table:
    """Return the target's table with the types that the file gives its columns; they have no default there.

    shape: the table there without them. lenient: a column that the table does not have is left out. Raises Unsupported
    ADP-162 where that is an error, ADP-173 for a column that can't have the type.
    """
    if not own.types:
        return shape
    types = {column.id: type_ for column, type_ in _retyped(shape, source, own, lenient=lenient)}
    columns = tuple(_retype(c, types[c.id]) if c.id in types else c for c in shape.columns)
    found = shape.with_(columns=columns)
    return found.with_(types=used_types(found))


def _retyped(shape: Table, source: Table, own: OwnColumns, *, lenient: bool) -> Iterator[tuple[Column, DataType]]:
    """Yield the source's columns whose type is another one at the target, each with that."""
    theirs = {column.name: column for column in source.columns}
    there = {column.id for column in shape.columns}
    keys = {number for key in source.keys for number in key.columns}
    for name, text in own.types.items():
        column = theirs.get(name)
        if column is None or column.id not in there:
            if lenient:
                continue
            raise refused(source, "ADP-162", f"`types` in `target_tables` names column {name}, which the target's"
                           " table does not have", "correct the entry: it names the source's columns; where the source"
                           " renames or drops one, write it for the columns after that, and run again")  # fmt: skip
        wanted = column_type(text)
        bounds = mentions((source.partition_key or "").partition(" ")[2], name)
        why = "the bounds of partitions may be values of it" if bounds else ""
        if why := why or _impossible(column, wanted, is_key=column.id in keys):
            raise refused(source, "ADP-173", f"`types` in `target_tables` gives column {name} the type {wanted.text},"
                           f" and {why}", "take the column out of `types`, or choose another type")  # fmt: skip
        yield column, wanted


def _impossible(column: Column, own: DataType, *, is_key: bool) -> str:
    """Return why a column can't have the type; empty where it can."""
    of = column.type
    if column.generated or column.identity:
        return "the column is generated" if column.generated else "it is an identity column"
    if is_key and not (of.is_builtin and (of.name, own.name) in _SAME_KEYS and own.modifier < 0):
        return f"as a key it may only become wider: it is {of.text}"
    if of.is_builtin and of.name in _FRACTIONS and of.modifier != -1 and _scale(of) > 0 and own.name in _WHOLE:
        return f"no {own.text} can be read from a {of.text}"
    return ""


def _scale(of: DataType) -> int:
    return (of.modifier - 4) & 0x7FF


def _retype(column: Column, own: DataType) -> Column:
    collation = column.collation if column.type.name in TEXTS and own.name in TEXTS else None
    return replace(column, type=own, default=None, collation=collation)


def rewritten(own: OwnColumns, before: Table, after: Table, types: TypeSystem) -> tuple[str, ...]:
    """Return the columns with a type of the target's own whose values a statement has rewritten, by name.

    before, after: the source's shapes. The log does not have these values: the source's new type, or a default that is
    not the same for all rows, may have given them.
    """
    old = {column.id: column for column in before.columns}
    return tuple(
        column.name
        for column in after.columns
        if column.name in own.types and _is_rewritten(old.get(column.id), column, own, types)
    )


def _is_rewritten(before: Column | None, after: Column, own: OwnColumns, types: TypeSystem) -> bool:
    if before is None:
        return after.default is not None and after.missing is None
    if before.type == after.type:
        return False
    is_exact = column_type(own.types[after.name]).name not in _OWN_SPELLING
    return not (is_exact and types.widens(before.type, after.type))


def refused(table: Table, code: str, why: str, hint: str) -> Unsupported:
    """Return the error that a target's table can't be as `target_tables` says."""
    return Unsupported(why, code=code, table=table.name, hint=hint)
