"""This module writes PostgreSQL's DDL for the replication key and a primary key beside it.

The server finds free names for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.ddl.tables.change_key import ChangeKey
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.ddl.blocks import block
from airflow_ddlrepl.engines.postgres.ddl.source_texts import deferrable_words
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Key, Table


def key_sql(table: Table, name: TableName | None = None) -> list[str]:
    """Return the statements that make a table's keys; none for a table without a key.

    name: another name that the table has for now; None: its own.
    """
    at = name or table.name
    made = [_add(key, table, at) for key in table.keys]
    return made + ([serve(table, at)] if needs_identity(table) else [])


def change_key(change: ChangeKey, before: Table) -> list[str]:
    """Return the SQL that drops the old key of a table or makes the new one, and sets the replica identity."""
    after = change.alter(before)
    sql = _drop(change, before) if change.new is None else []
    if change.old is None and change.new is not None:
        sql.append(_add(change.new, before, before.name))
    if needs_identity(after):
        return [*sql, serve(after, before.name)]
    return [*sql, f"ALTER TABLE {qualified(before.name)} REPLICA IDENTITY DEFAULT"] if needs_identity(before) else sql


def needs_identity(table: Table) -> bool:
    """Return whether a unique index has to be the table's replica identity, so that the primary key beside it is not.

    An inspection shows the same keys as at the source then.
    """
    return table.key is not None and not table.key.is_primary and table.second_key is not None


def serve(table: Table, at: TableName) -> str:
    """Return the SQL that makes a unique index of the replication key's columns the table's replica identity."""
    name = _text(qualified(at))
    return block(
        "DECLARE found name; BEGIN SELECT o.relname INTO STRICT found"
        f" FROM pg_index i JOIN pg_class o ON o.oid = i.indexrelid WHERE {_is_unique_on(table.key_columns(), name)}"
        " AND i.indimmediate AND i.indisvalid ORDER BY i.indisreplident DESC, i.indexrelid LIMIT 1;"
        f" EXECUTE format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', {name}, found); END"
    )


def _add(key: Key, table: Table, name: TableName) -> str:
    at, columns = qualified(name), ", ".join(quote(table.column(i).name) for i in key.columns)
    if not key.is_primary:
        return f"CREATE UNIQUE INDEX ON {at} ({columns})"
    when = f" DEFERRABLE INITIALLY {deferrable_words(key.deferrable)}" if key.deferrable else ""
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
    columns = [table.column(i) for i in change.old.columns]
    return block(
        "DECLARE found record; BEGIN FOR found IN"
        " SELECT i.indexrelid::regclass AS index, k.conname AS name FROM pg_index i"
        " LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype = 'u'"
        f" WHERE {_is_unique_on(columns, name)}"
        " LOOP IF found.name IS NULL THEN EXECUTE format('DROP INDEX %s', found.index);"
        f" ELSE EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', {name}, found.name); END IF; END LOOP; END"
    )


def _is_unique_on(columns: Sequence[Column], name: str) -> str:
    """Return SQL that is true of an index `i` that is unique on just these columns. name: of the table, as SQL."""
    return (
        f"i.indrelid = {name}::regclass AND i.indisunique AND NOT i.indisprimary AND i.indpred IS NULL"
        " AND ARRAY(SELECT a.attname::text FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS p(num, place)"
        " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = p.num ORDER BY p.place"
        f") = ARRAY[{', '.join(_text(c.name) for c in columns)}]::text[]"
    )


def _text(value: str) -> str:
    return literal(value).strip()
