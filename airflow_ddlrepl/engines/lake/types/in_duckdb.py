"""This module says which types of DuckDB have the values that a lake's tables hold of a source's types."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.lake.types.physical import TEXT, physical
from airflow_ddlrepl.model.types import DataType, TypeDefinition

_DUCKDB = {
    TEXT: "VARCHAR",
    "INT": "INTEGER",
    "BINARY": "BLOB",
    "TIMESTAMP_NTZ": "TIMESTAMP",
    "TIMESTAMP": "TIMESTAMP WITH TIME ZONE",
}
"""DuckDB's names of types, where Spark has others."""


def duckdb_type(of: DataType, types: Sequence[TypeDefinition] = ()) -> str:
    """Return DuckDB's type for the values that a lake holds of a type; types: the table's user-defined types."""
    return in_duckdb(physical(of, types))


def in_duckdb(spark_type: str) -> str:
    """Return DuckDB's name of a type that Spark names so."""
    return _DUCKDB.get(spark_type, spark_type)
