"""This module writes what a rule does to a row LCR as statements of a trigger function.

The variables are `command`, `object_owner`, `object_name`, the rows `old_row` and `new_row` (texts by the names of
columns; empty where the LCR has no such row), and `renamed`: by column that is made, what it was, or its type's oid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.quoting import literal
from airflow_ddlrepl.streams.messages import Command
from airflow_ddlrepl.streams.rules.rule import ActionContext
from airflow_ddlrepl.streams.transformations.declared import (
    AddColumn,
    Declared,
    DeleteColumn,
    KeepColumns,
    RenameColumn,
    RenameSchema,
    RenameTable,
    ValueType,
    in_order,
)

BOOLEAN, TEXT, NUMERIC = 16, 25, 1700
ERROR = "DR122"
"""The SQLSTATE of a statement that a transformation ends."""
_ROWS = {
    ValueType.OLD: (("old_row", Command.INSERT),),
    ValueType.NEW: (("new_row", Command.DELETE),),
    ValueType.BOTH: (("old_row", Command.INSERT), ("new_row", Command.DELETE)),
}
"""The rows that a value type names, each with the command whose LCR has no such row."""


def statements(action: ActionContext) -> Iterator[str]:
    """Yield what a true rule does: row migration, then its declared transformations, in their order."""
    yield from _migration(action.subset)
    for one in in_order(action.declared):
        yield _WRITERS[type(one)](one)


def _migration(subset: Command | None) -> Iterator[str]:
    change = {
        Command.INSERT: "new_row := old_row || new_row; old_row := '{}';",
        Command.DELETE: "new_row := '{}';",
    }
    if subset in change:
        yield f"IF command = 'UPDATE' THEN command := '{subset.value}'; {change[subset]} END IF;"


def _of_table(table: str, change: str) -> str:
    return f"IF object_owner || '.' || object_name = {literal(table)} THEN {change} END IF;"


def _by_rows(what: Any, change: Callable[[str], str]) -> str:
    """Return a statement that changes the rows of a table's LCRs. change: returns what is done to one of them."""
    parts = (f"IF command <> '{lacks}' THEN {change(row)} END IF;" for row, lacks in _ROWS[what.value_type])
    return _of_table(what.table, " ".join(parts))


def _kept(what: KeepColumns) -> str:
    listed = ", ".join(map(literal, what.columns))
    return _by_rows(what, lambda row: f"{row} := ddlrepl.sync_capture_kept({row}, ARRAY[{listed}]::text[]);")


def _deleted(what: DeleteColumn) -> str:
    return _by_rows(what, lambda row: f"{row} := {row} - {literal(what.column)}::text;")


def _renamed_column(what: RenameColumn) -> str:
    if what.column == what.to:
        return ""
    old, new = literal(what.column), literal(what.to)

    def change(row: str) -> str:
        is_twice = f"IF {row} ? {new} THEN {_clash('rename_column', what.to)} END IF;"
        changed = f"{row} := ({row} - {old}::text) || jsonb_build_object({new}, {row} -> {old});"
        typed = f"renamed := renamed || jsonb_build_object({new}, coalesce(renamed -> {old}, to_jsonb({old}::text)));"
        return f"IF {row} ? {old} THEN {is_twice} {changed} {typed} END IF;"

    return _by_rows(what, change)


def _added(what: AddColumn) -> str:
    column = literal(what.column)
    oid, text = _typed(what.value)
    value = "NULL" if text is None else literal(text)
    typed = f"renamed := renamed || jsonb_build_object({column}, {oid});"

    def change(row: str) -> str:
        is_twice = f"IF {row} ? {column} THEN {_clash('add_column', what.column)} END IF;"
        return f"{is_twice} {row} := {row} || jsonb_build_object({column}, {value}::text); {typed}"

    return _by_rows(what, change)


def _typed(value: Any) -> tuple[int, str | None]:
    """Return the type of an added value, and the value as the server writes it."""
    match value:
        case bool():
            return BOOLEAN, "t" if value else "f"
        case int() | Decimal():
            return NUMERIC, format(Decimal(value), "f")
    return TEXT, None if value is None else str(value)


def _renamed_table(what: RenameTable) -> str:
    owner, name = what.to.split(".", 1)
    return _of_table(what.table, f"object_owner := {literal(owner)}; object_name := {literal(name)};")


def _renamed_schema(what: RenameSchema) -> str:
    return f"IF object_owner = {literal(what.schema)} THEN object_owner := {literal(what.to)}; END IF;"


def _clash(procedure: str, column: str) -> str:
    text = literal(f"RUL-122: {procedure}: the row LCR of %s.%s has a column {column.replace('%', '%%')} already")
    return (
        f"RAISE EXCEPTION USING ERRCODE = '{ERROR}', MESSAGE = format({text}, object_owner, object_name),"
        " HINT = 'triggers capture the table: change the transformation in the channel file, and run a cycle';"
    )


_WRITERS: dict[type[Declared], Callable[[Any], str]] = {
    KeepColumns: _kept,
    DeleteColumn: _deleted,
    RenameColumn: _renamed_column,
    AddColumn: _added,
    RenameTable: _renamed_table,
    RenameSchema: _renamed_schema,
}
