"""This module says as which type of a lake's table a column of a source's type is held.

A type is named as Spark's SQL names it. Types that a lake has no equal of are held as STRING, which has the source's
text of each value.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.held_types.type_names import decimal_size, held_as
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.types import DataType, TypeDefinition

TEXT = "STRING"
_PLAIN = {
    "boolean": "BOOLEAN",
    "smallint": "INT",
    "integer": "INT",
    "bigint": "BIGINT",
    "oid": "BIGINT",
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "bytea": "BINARY",
    "date": "DATE",
    "timestamp": "TIMESTAMP_NTZ",
    "timestamp without time zone": "TIMESTAMP_NTZ",
    "timestamp with time zone": "TIMESTAMP",
}
_ICEBERG = {
    "BOOLEAN": "boolean",
    "INT": "int",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "BINARY": "binary",
    "DATE": "date",
    "TIMESTAMP_NTZ": "timestamp",
    "TIMESTAMP": "timestamptz",
    TEXT: "string",
}
_WIDER = frozenset([("INT", "BIGINT"), ("FLOAT", "DOUBLE")])
_SPARK = {iceberg: spark for spark, iceberg in _ICEBERG.items()}


def physical(of: DataType, types: Sequence[TypeDefinition] = ()) -> str:
    """Return Spark's name of the type that a type is held as; types: the table's user-defined types."""
    return held_as(of, types, _PLAIN, TEXT)


def columns_sql(table: Table) -> dict[str, str]:
    """Return Spark's name of the type of each column of a table, by the column's name."""
    return {column.name: physical(column.type, table.types) for column in table.columns}


def iceberg_name(spark: str) -> str:
    """Return the name that the table's metadata, Java and pyiceberg have for a type that Spark names so."""
    size = decimal_size(spark)
    return f"decimal({size[0]}, {size[1]})" if size else _ICEBERG[spark]


def spark_name(iceberg: str) -> str:
    """Return the name in Spark's SQL of a type of a table's metadata; of one that `physical` never gives, that name."""
    size = decimal_size(iceberg)
    return f"DECIMAL({size[0]},{size[1]})" if size else _SPARK.get(iceberg, iceberg)


def widens_to(before: str, after: str) -> bool:
    """Can a column get this type while its files stay as they are? Both are Spark's names."""
    smaller, size = decimal_size(before), decimal_size(after)
    if smaller is not None and size is not None:
        return smaller[1] == size[1] and smaller[0] <= size[0]
    return before == after or (before, after) in _WIDER
