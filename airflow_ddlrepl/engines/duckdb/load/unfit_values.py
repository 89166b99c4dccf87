"""This module writes the statements by which a loaded shadow loses values, or rows, that columns can't hold."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.duckdb.types.physical import physical
from airflow_ddlrepl.engines.duckdb_sql.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.duckdb_sql.read_texts import why_not
from airflow_ddlrepl.engines.duckdb_sql.text_sql import as_written
from airflow_ddlrepl.mapping.misfits import TOLD_DISCARDED, null_warning
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table

DISCARDED = "ddlrepl_discarded"
"""The table beside the shadow's with the rows that a load discards: their keys, reasons and values as JSON."""


def discarding(shadow: TableName, shape: Table, unfit: Sequence[Column]) -> list[str]:
    """Return the statements that move the rows that do not fit into another table; the last one gives a warning.

    shape: the target's, with the source's ids. unfit: columns that are texts in the shadow.
    """
    texts = {column.id: quote(column.name) for column in unfit}
    for column in shape.columns:
        texts.setdefault(column.id, as_written(quote(column.name), physical(column.type, shape.types)))
    told = [
        f"{literal(c.name + ': ')} || left({why_not(texts[c.id], c, physical(c.type, shape.types))}, 200)"
        for c in unfit
    ]
    why = f"concat_ws('; ', {', '.join(told)})"
    key = ", ".join(texts[i] for i in sorted(shape.key.columns if shape.key else ()))
    row = ", ".join(f"{literal(c.name)}, {texts[c.id]}" for c in shape.columns if not c.generated and not c.extra)
    into = qualified(TableName(shadow.schema, DISCARDED))
    values = f"[{key}] AS key, {why} AS reason, CAST(json_object({row}) AS VARCHAR) AS row_text"
    return [
        f"CREATE TABLE {into} AS SELECT {values} FROM {qualified(shadow)} WHERE {why} <> ''",
        f"DELETE FROM {qualified(shadow)} WHERE {why} <> ''",
        f"SELECT count(*) || {literal(TOLD_DISCARDED)} FROM {into} HAVING count(*) > 0",
    ]


def unique(shadow: TableName, key: Sequence[Column]) -> list[str]:
    """Return the statements that fail where two rows of a shadow have one key by the channel file."""
    if not key:
        return []
    names = ", ".join(quote(column.name) for column in key)
    texts = ", ".join(f"CAST({quote(column.name)} AS VARCHAR)" for column in key)
    told = literal(f"Key ({', '.join(column.name for column in key)})=(")
    told = f"concat({told}, concat_ws(', ', {texts}), ') is duplicated')"
    return [
        f"SELECT error({told}) FROM (SELECT {names} FROM {qualified(shadow)} GROUP BY ALL HAVING count(*) > 1 LIMIT 1)"
    ]


def nulling(shadow: TableName, column: Column) -> list[str]:
    """Return the statements that make texts of a shadow NULL that a column can't hold; one gives a warning.

    Where the column is NOT NULL they fail.
    """
    table, name = qualified(shadow), quote(column.name)
    unfit = f"FROM {table} WHERE ({why_not(name, column, physical(column.type))}) IS NOT NULL HAVING count(*) > 0"
    told = f"count(*) || {literal(null_warning(column))}"
    if not column.nullable:
        return [f"SELECT error({told} || {literal(': the column is NOT NULL')}) {unfit}"]
    return [
        f"SELECT {told} {unfit}",
        f"UPDATE {table} SET {name} = NULL WHERE ({why_not(name, column, physical(column.type))}) IS NOT NULL",
    ]
