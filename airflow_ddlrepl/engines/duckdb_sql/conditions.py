"""This module writes row conditions as DuckDB's SQL; what DuckDB may answer otherwise than the source is refused.

A load takes its rows at the source by the same condition: an answer that differs would lose rows in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from airflow_ddlrepl.engines.duckdb_sql.instances import scratch
from airflow_ddlrepl.engines.duckdb_sql.physical import Physical
from airflow_ddlrepl.engines.duckdb_sql.quoting import literal, quote
from airflow_ddlrepl.engines.duckdb_sql.text_sql import TEXT, as_written
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.notation.condition.expression import (
    Cast,
    IsNull,
    Like,
    Named,
    Number,
    Part,
    Spelling,
    Text,
)
from airflow_ddlrepl.notation.condition.parser import is_constant, spelled
from airflow_ddlrepl.notation.condition.row_limit import RowLimit

_WHOLE = frozenset(["SMALLINT", "INTEGER", "BIGINT"])
_MOMENTS = frozenset(["DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"])
_CASTS = {
    **dict.fromkeys(("smallint", "integer", "bigint"), _WHOLE),
    "double precision": _WHOLE | {"DOUBLE"},
    **dict.fromkeys(("date", "timestamp without time zone", "timestamp with time zone"), _MOMENTS),
}
"""From which types of DuckDB a value of a column is cast to a type as the source casts it; others round otherwise."""
_ALIKE = _WHOLE | _MOMENTS | {"BOOLEAN", "DOUBLE", "TIME", "UUID"}
"""The types, besides DECIMAL, whose values DuckDB compares as the source does."""
_TEXTS = frozenset(["text", "character varying"])
_NO_CASTS = frozenset(["numeric", "real", "interval", "bytea", "inet"])


def is_true(condition: Part, values: Mapping[str, str]) -> str:
    """Return SQL that is true or false, never NULL. values: SQL for the value of each column, by its name."""
    return f"({condition.sql(Spelling(values.__getitem__, literal))}) IS TRUE"


def values_here(
    here: Mapping[str, tuple[Column, Column]], types: Sequence[TypeDefinition], physical: Physical
) -> dict[str, str]:
    """Return SQL for the values of columns here, in the types that the source's columns have.

    here: the source's column and ours, by the source's name. types: definitions of the table's user-defined types.
    """
    found = {}
    for name, (theirs, ours) in here.items():
        wanted, there = physical(theirs.type, types), physical(ours.type, types)
        is_alike = theirs.type.text == ours.type.text or wanted == there
        found[name] = quote(ours.name) if is_alike else f"CAST({as_written(quote(ours.name), there)} AS {wanted})"
    return found


def within(limit: RowLimit, shape: Table, physical: Physical) -> str:
    """Return SQL that is true for those rows of a target's table of this shape that a limit selects."""
    return is_true(limit.condition, values_here(limit.columns, shape.types, physical))


def require_readable(condition: Part, table: Table, columns: Sequence[Column], physical: Physical) -> None:
    """Raise Unsupported ADP-148 unless DuckDB takes the condition, and answers as the source does. No row is read."""
    import duckdb

    nulls = {column.name: f"CAST(NULL AS {physical(column.type, table.types)})" for column in columns}
    why = why_unlike(condition, columns, physical)
    try:
        with scratch() as connection:
            connection.execute(f"SELECT {is_true(condition, nulls)}")
    except duckdb.Error as error:
        why = why or " ".join(str(error).split())
    if why:
        raise Unsupported(
            f"DuckDB does not read the condition {spelled(condition)} as the source does: {why}",
            code="ADP-148",
            table=table.name,
            hint="correct the condition in `restrict`; docs/duckdb.md has what can be in one",
        )


def why_unlike(condition: Part, columns: Sequence[Column], physical: Physical) -> str:
    """Return why DuckDB may answer otherwise than the source; empty: it does not. columns: that the condition names."""
    by_name = {column.name: column for column in columns}
    return next((why for part in condition.walk() for why in _unlike(part, by_name, physical)), "")


def _unlike(part: Part, columns: Mapping[str, Column], physical: Physical) -> Iterator[str]:
    if not isinstance(part, IsNull):
        for one in part.parts:
            if isinstance(one, Named) and not _is_alike(columns[one.name], physical(columns[one.name].type)):
                yield f"values of {one.name} ({columns[one.name].type.text}) are compared otherwise in DuckDB"
    if isinstance(part, Like) and "\\" in part.pattern.value:
        yield "DuckDB has no backslash in a pattern of LIKE"
    if isinstance(part, Number) and "e" in part.digits.lower():
        yield f"{part.digits} is rounded: write its digits"
    if isinstance(part, Cast) and not _is_cast_alike(part, columns, physical):
        yield f"DuckDB casts {spelled(part.of)} to {part.type} otherwise"
    if any(isinstance(one, Text) for one in part.parts) and not isinstance(part, Cast):
        for one in part.walk():
            if isinstance(one, Named) and physical(columns[one.name].type).startswith("DECIMAL"):
                yield f"a text is rounded before it is compared with {one.name}: write a number without quotes"


def _is_alike(column: Column, duckdb_type: str) -> bool:
    if duckdb_type == TEXT:
        return column.type.is_builtin and re.sub(r"\(.*\)", "", column.type.text).strip() in _TEXTS
    return duckdb_type in _ALIKE or duckdb_type.startswith("DECIMAL")


def _is_cast_alike(part: Cast, columns: Mapping[str, Column], physical: Physical) -> bool:
    if is_constant(part.of):
        return part.type not in _NO_CASTS
    return isinstance(part.of, Named) and physical(columns[part.of.name].type) in _CASTS.get(part.type, ())
