"""This module writes defaults of columns in DuckDB's SQL, where they certainly give the source's values."""

from __future__ import annotations

import re
from collections.abc import Sequence

from airflow_ddlrepl.engines.duckdb.types.physical import physical
from airflow_ddlrepl.engines.duckdb_sql.text_sql import TEXT
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import OTHER, DataType, Family, TypeDefinition, TypeFamily, TypeKind
from airflow_ddlrepl.sql.expressions.translation import for_duckdb
from airflow_ddlrepl.sql.translation import Untranslatable

_FAMILIES = {
    "BOOLEAN": TypeFamily(Family.BOOLEAN),
    "SMALLINT": TypeFamily(Family.INT, bits=16),
    "INTEGER": TypeFamily(Family.INT, bits=32),
    "BIGINT": TypeFamily(Family.INT, bits=64),
    "FLOAT": TypeFamily(Family.FLOAT, bits=32),
    "DOUBLE": TypeFamily(Family.FLOAT, bits=64),
    "BLOB": TypeFamily(Family.BYTES),
    "UUID": TypeFamily(Family.UUID),
    "DATE": TypeFamily(Family.DATE),
    "TIME": TypeFamily(Family.TIME),
    "TIMESTAMP": TypeFamily(Family.TIMESTAMP),
    "TIMESTAMP WITH TIME ZONE": TypeFamily(Family.TIMESTAMP_TZ),
    "JSON": TypeFamily(Family.JSON),
}
_TEXTS = frozenset(["text", "character varying", "character"])
_TYPE = re.compile(r"(.*?)(?:\((\d+)(?:,(\d+))?\))?")


def default_sql(column: Column, types: Sequence[TypeDefinition]) -> str:
    """Return a column's default in DuckDB's SQL; empty: it has none, or none that is certainly the same."""
    try:
        return translated(column, types) if column.default is not None else ""
    except Untranslatable:
        return ""


def translated(column: Column, types: Sequence[TypeDefinition]) -> str:
    """Return a column's default in DuckDB's SQL. Raises Untranslatable."""
    return for_duckdb(column.default or "", _family(column.type, physical(column.type, types)))


def _family(of: DataType, there: str) -> TypeFamily:
    """Return the family of a column's values. there: its type in DuckDB, which has the source's but for texts."""
    if of.kind is TypeKind.ENUM:
        return TypeFamily(Family.ENUM)
    found = _TYPE.fullmatch(of.text if there == TEXT else there)
    name, *sizes = found.groups() if found else ("",)
    first, second = (int(size) if size else None for size in (*sizes, None, None)[:2])
    if name == "DECIMAL":
        return TypeFamily(Family.DECIMAL, precision=first, scale=second)
    if there == TEXT:
        is_text = of.kind is TypeKind.BASE and of.is_builtin and name in _TEXTS
        padded = name == "character"
        return TypeFamily(Family.TEXT, length=first or (1 if padded else None), is_padded=padded) if is_text else OTHER
    return _FAMILIES.get(there, OTHER)
