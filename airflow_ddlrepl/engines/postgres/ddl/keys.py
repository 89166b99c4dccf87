"""This module writes PostgreSQL's DDL for the replication key and a deferrable primary key.

The server finds free names for them.
"""

from __future__ import annotations

from airflow_ddlrepl.ddl.tables.change_key import ChangeKey
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.ddl.types import block
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Key, Table


def key_sql(table: Table, name: TableName | None = None) -> list[str]:
    """Return the statements that make a table's keys; none for a table without a key.

    name: another name that the table has for now; None: its own.
    """
    return [_add(key, table, name or table.name) for key in table.keys]


def change_key(change: ChangeKey, before: Table) -> list[str]:
    """Return the SQL that drops the old key of a table, if it has one, and makes the new one."""
    drop = _drop(change, before) if change.old is not None else []
    return drop + ([_add(change.new, before, before.name)] if change.new is not None else [])


def _add(key: Key, table: Table, name: TableName) -> str:
    at, columns = qualified(name), ", ".join(quote(table.column(i).name) for i in key.columns)
    if not key.is_primary:
        return f"CREATE UNIQUE INDEX ON {at} ({columns})"
    when = f" DEFERRABLE INITIALLY {key.deferrable.upper()}" if key.deferrable else ""
    return f"ALTER TABLE {at} ADD PRIMARY KEY ({columns}){when}"


def _drop(change: ChangeKey, before: Table) -> list[str]:
    assert change.old is not None
    if change.old.name and change.old.is_primary:
        return [f"ALTER TABLE {qualified(before.name)} DROP CONSTRAINT {quote(change.old.name)}"]
    return [_drop_primary(before) if change.old.is_primary else _drop_unique(change, before)]


def _drop_primary(table: Table) -> str:
    name = _text(qualified(table.name))
    return block(
        "DECLARE key_name text; BEGIN"
        f" SELECT conname INTO key_name FROM pg_constraint WHERE conrelid = {name}::regclass AND contype = 'p';"
        f" IF FOUND THEN EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', {name}, key_name); END IF; END"
    )


def _drop_unique(change: ChangeKey, table: Table) -> str:
    """Return the SQL that drops the unique indexes on just these columns.

    One that belongs to a constraint is dropped with it.
    """
    assert change.old is not None
    name = _text(qualified(table.name))
    columns = ", ".join(_text(table.column(i).name) for i in change.old.columns)
    return block(
        "DECLARE found record; BEGIN FOR found IN"
        " SELECT i.indexrelid::regclass AS index, k.conname AS name FROM pg_index i"
        " LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype = 'u'"
        f" WHERE i.indrelid = {name}::regclass AND i.indisunique AND NOT i.indisprimary AND i.indpred IS NULL"
        " AND ARRAY(SELECT a.attname::text FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS p(num, place)"
        " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = p.num ORDER BY p.place"
        f") = ARRAY[{columns}]::text[]"
        " LOOP IF found.name IS NULL THEN EXECUTE format('DROP INDEX %s', found.index);"
        f" ELSE EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', {name}, found.name); END IF; END LOOP; END"
    )


def _text(value: str) -> str:
    return literal(value).strip()
