"""This module finds, with the server's own types, the values that a column can't hold, and why.

The server has no way before version 16 to try a value without an error. So each column gets a function of the session
(`pg_temp`), which returns the error that a value would have, or NULL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.types.as_written import read_as, written
from airflow_ddlrepl.mapping.misfits import TOLD_DISCARDED, null_warning
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table


def misfit(column: Column, text: str) -> str:
    """Return SQL for why a column can't hold the value with this text (SQL); NULL: it can. See `functions`."""
    return f"{_name(column)}({text})"


def functions(columns: Iterable[Column]) -> list[str]:
    """Return the statements that create the functions of `misfit` in a session, for these columns of a target."""
    return [
        f"CREATE OR REPLACE FUNCTION {_name(column)}(v text) RETURNS text LANGUAGE plpgsql AS $ddlrepl$"
        f" DECLARE x {column.type.text}; BEGIN x := {read_as('v', column.type)}; RETURN NULL;"
        " EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN RETURN SQLERRM; END $ddlrepl$"
        for column in columns
    ]


def reason(columns: Sequence[Column], texts: Sequence[str]) -> str:
    """Return SQL for why a row does not fit: each column with its error; an empty text: it fits. texts: SQL, of each.

    An error with the value in it is cut, so that the reasons stay short.
    """
    told = (
        f"{literal(column.name + ': ')} || left({misfit(column, text)}, 200)"
        for column, text in zip(columns, texts, strict=True)
    )
    return f"concat_ws('; ', {', '.join(told)})"


def texts_of_key(columns: Iterable[tuple[int, str]]) -> str:
    """Return SQL for the texts of a key's values, by which a discarded row is found. columns: id, and SQL of its text.

    Their order is that of the ids, so that loads and changes find the same key.
    """
    return f"ARRAY[{', '.join(text for _, text in sorted(columns))}]::text[]"


def row_texts(columns: Sequence[tuple[str, str]]) -> str:
    """Return SQL for a row as JSON: the text of each value by its column. columns: name, and SQL of its text."""
    names, texts = ", ".join(literal(name) for name, _ in columns), ", ".join(text for _, text in columns)
    return f"jsonb_object(ARRAY[{names}]::text[], ARRAY[{texts}]::text[])"


def discarding(table: TableName, into: TableName, shape: Table, unfit: Sequence[Column]) -> str:
    """Return the statement that moves the rows of a loaded table that do not fit into another, and returns a warning.

    shape: the target's, with the source's ids. into: has the columns key, reason and row.
    """
    texts = {column.id: written(quote(column.name)) for column in shape.columns}
    keys = shape.key.columns if shape.key else ()
    why = reason(unfit, [texts[column.id] for column in unfit])
    rows = row_texts([(c.name, texts[c.id]) for c in shape.columns if not c.generated and not c.extra])
    return (
        f"WITH gone AS (DELETE FROM {qualified(table)} WHERE {why} <> ''"
        f' RETURNING {texts_of_key((i, texts[i]) for i in keys)} AS key, {why} AS reason, {rows} AS "row"),'
        f' kept AS (INSERT INTO {qualified(into)} SELECT key, reason, "row" FROM gone)'
        f" SELECT count(*) || {literal(TOLD_DISCARDED)} FROM gone HAVING count(*) > 0"
    )


def removing(table: TableName, columns: Sequence[Column]) -> str:
    """Return the statement that removes rows with texts that these columns can't hold from a table."""
    texts = [written(quote(column.name)) for column in columns]
    return f"DELETE FROM {qualified(table)} WHERE {reason(columns, texts)} <> ''"


def nulling(table: TableName, column: Column) -> str:
    """Return the statement that makes texts of a loaded table NULL that a column can't hold, and returns a warning."""
    name = quote(column.name)
    return (
        f"WITH done AS (UPDATE {qualified(table)} SET {name} = NULL"
        f" WHERE {misfit(column, written(name))} IS NOT NULL RETURNING 1)"
        f" SELECT count(*) || {literal(null_warning(column))} FROM done HAVING count(*) > 0"
    )


def _name(column: Column) -> str:
    return f"pg_temp.{quote(f'ddlrepl misfit {column.id}')}"
