"""This module preserves columns that only the target has, when its table is loaded again.

They are those that people added, and those of the channel that the source does not have any more. Their values stay,
by key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote, rows_of
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.target_columns import DELETED, DELETED_AT, deletion_column


def refuse_clash(found: Table | None, wanted: Table, recorded: Table | None) -> None:
    """Raise CannotAdapt ADP-105 where a column that people added has the name of a new one of the source's."""
    if found is None or recorded is None or found.partition is not None:
        return
    known, new = {c.name for c in recorded.columns}, {c.name for c in wanted.columns}
    for column in found.columns:
        if column.name in new - known:
            raise CannotAdapt(
                f"the target table has a column {column.name} of its own",
                code="ADP-105",
                table=wanted.name,
                hint="rename or drop that column at the target",
            )


def added_columns(found: Table | None, wanted: Table, recorded: Table | None) -> list[Column]:
    """Return the columns that people added to the target's table; the id is one that no column of the source has."""
    if found is None or recorded is None:
        return []
    names = {c.name for c in (*recorded.columns, *wanted.columns)}
    return [replace(c, id=-c.id) for c in found.columns if c.name not in names]


def carry_over(
    cursor: Any, old: Table, wanted: Table, shadow: TableName, kept: Sequence[str], recorded: Table | None
) -> None:
    """Copy the values of the channel's columns that the source does not have into the shadow table, by key.

    kept: their names. Types may differ by now: they are assigned by their text.
    Raises CannotAdapt ADP-132 for a table without a key.
    """
    names = _names_before(old, wanted, recorded)
    pairs = [(name, names[name]) for name in kept if name in names]
    if not pairs:
        return
    if not _has_key(wanted, names):
        _refuse_keyless(cursor, old, wanted, [before for _, before in pairs])
        return
    types = {c.name: c.type.text for c in wanted.columns}
    sets = ", ".join(f"{quote(n)} = CAST(o.{quote(before)}::text AS {types[n]})" for n, before in pairs)
    same = _is_same(wanted, names)
    cursor.execute(f"UPDATE {qualified(shadow)} t SET {sets} FROM {rows_of(old)} o WHERE {same}".encode())


def retain_deleted(cursor: Any, old: Table, wanted: Table, shadow: TableName, recorded: Table | None) -> None:
    """Copy the rows that the source does not have any more into the shadow table, marked as deleted (`soft_delete`).

    Types may differ by now: values are assigned by their text.
    """
    names, flag = _names_before(old, wanted, recorded), deletion_column(wanted)
    if not flag or recorded is None or flag not in names or not _has_key(wanted, names):
        return
    was_deleted = f"o.{quote(names[flag])}"

    def value(column: Column) -> str:
        if column.extra == DELETED:
            return "true"
        if column.name not in names:
            return "now()"
        text = f"CAST(o.{quote(names[column.name])}::text AS {column.type.text})"
        return f"CASE WHEN {was_deleted} THEN {text} ELSE now() END" if column.extra == DELETED_AT else text

    columns = [c for c in wanted.columns if not c.generated and (c.name in names or c.extra == DELETED_AT)]
    listed, values = ", ".join(quote(c.name) for c in columns), ", ".join(map(value, columns))
    there = f"SELECT FROM {qualified(shadow)} t WHERE {_is_same(wanted, names)}"
    cursor.execute(
        f"INSERT INTO {qualified(shadow)} ({listed}) OVERRIDING SYSTEM VALUE SELECT {values}"
        f" FROM {rows_of(old)} o WHERE NOT EXISTS ({there})".encode()
    )


@contextmanager
def retain_values(
    cursor: Any, old: Table, wanted: Table, added: Sequence[Column], recorded: Table | None
) -> Iterator[None]:
    """Set the values of columns that people added aside, and put them back after the `with`, by key.

    Raises CannotAdapt ADP-132 for a table without a key.
    """
    plain = [c for c in added if not c.generated]
    if not plain:
        yield
        return
    names = _names_before(old, wanted, recorded)
    if not _has_key(wanted, names):
        raise _keyless(wanted, plain[0].name)
    needed = ", ".join(map(quote, [*(names[c.name] for c in wanted.key_columns()), *(c.name for c in plain)]))
    aside = 'CREATE TEMPORARY TABLE "ddlrepl own columns" ON COMMIT DROP AS'
    cursor.execute(f"{aside} SELECT {needed} FROM {rows_of(old)}".encode())
    yield
    sets = ", ".join(f"{quote(c.name)} = o.{quote(c.name)}" for c in plain)
    same = _is_same(wanted, names)
    cursor.execute(f'UPDATE {qualified(wanted.name)} t SET {sets} FROM "ddlrepl own columns" o WHERE {same}'.encode())
    cursor.execute('DROP TABLE "ddlrepl own columns"')


def _names_before(old: Table, wanted: Table, recorded: Table | None) -> dict[str, str]:
    """Return the names that the wanted columns have in the old table, for those that it has."""
    there = {c.name for c in old.columns}
    before = {c.id: c.name for c in recorded.columns} if recorded else {}
    names = {c.name: before.get(c.id, c.name) for c in wanted.columns if not recorded or c.id in before}
    return {name: was for name, was in names.items() if was in there}


def _has_key(wanted: Table, names: Mapping[str, str]) -> bool:
    """Return whether the old table has the key's columns."""
    keys = {c.name for c in wanted.key_columns()}
    return bool(keys) and keys <= names.keys()


def _is_same(wanted: Table, names: Mapping[str, str]) -> str:
    """Return SQL that is true where a row t and an old one, o, have the same key.

    By text, as the wanted types write it.
    """
    return " AND ".join(
        f"t.{quote(c.name)}::text = CAST(o.{quote(names[c.name])}::text AS {c.type.text})::text"
        for c in wanted.key_columns()
    )


def _refuse_keyless(cursor: Any, old: Table, wanted: Table, columns: Sequence[str]) -> None:
    filled = " OR ".join(f"{quote(name)} IS NOT NULL" for name in columns)
    cursor.execute(f"SELECT EXISTS (SELECT FROM {rows_of(old)} WHERE {filled})".encode())
    if cursor.fetchone()[0]:
        raise _keyless(wanted, columns[0])


def _keyless(table: Table, column: str) -> CannotAdapt:
    return CannotAdapt(
        f"the target's table has columns of its own, and no key by which their values could be preserved: {column}",
        code="ADP-132",
        table=table.name,
        hint="move those columns to a table beside it, or drop them, and run again",
    )
