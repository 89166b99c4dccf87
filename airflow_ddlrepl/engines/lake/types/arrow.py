"""This module gives values to a lake's tables as Arrow values of the type that Parquet stores them as."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.held_types.type_names import decimal_size
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.ports.change_values import Converted, wanted

_ARROW = {
    "BOOLEAN": pa.bool_(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}
_FIELD_ID = b"PARQUET:field_id"
"""Under this key the field of a Parquet file has the id of the table's column."""


def arrow_type(spark_type: str) -> pa.DataType:
    """Return the Arrow type of the values of a column. spark_type: Spark's name of its type."""
    size = decimal_size(spark_type)
    return pa.decimal128(*size) if size else _ARROW.get(spark_type, pa.string())


def field_for(name: str, spark_type: str) -> pa.Field:
    """Return the field in which values of a column are wanted; infinities are the ends of the integers, as there."""
    return wanted(name, arrow_type(spark_type), with_ends=True)


def parquet_schema(types: Mapping[str, str], ids: Mapping[str, int]) -> pa.Schema:
    """Return the schema of a Parquet file of a table's rows.

    types: Spark's name of each column's type, in the order of the file. ids: of the table's columns, by name.
    """
    return pa.schema(
        [pa.field(name, arrow_type(of), metadata={_FIELD_ID: str(ids[name])}) for name, of in types.items()]
    )


def each_held(
    values: pa.ChunkedArray, spark_type: str, convert: Callable[[pa.Array, pa.Field], Converted], column: str
) -> pa.ChunkedArray:
    """Return values of a column as the lake holds them. convert: returns a chunk of them in the type of a field.

    Raises RowsRefused INT-105 for a value without an equal there.
    """
    field = field_for("value", spark_type)
    return pa.chunked_array([as_held(convert(chunk, field), spark_type, column) for chunk in values.chunks], field.type)


def as_held(found: Converted, spark_type: str, column: str) -> pa.Array:
    """Return the values of a column that was wanted as `field_for` says. Raises RowsRefused INT-105 where one is unfit.

    spark_type: Spark's name of the type there.
    """
    if found.unfit is not None and found.unfit.null_count < len(found.unfit):
        text = pc.drop_null(found.unfit)[0].as_py()
        raise RowsRefused(
            f"the column {column} can't hold the value {text} as {spark_type}",
            code="INT-105",
            hint="leave the column out (`column_properties`), or correct the value at the source: docs/types.md says"
            " which values a lake's types hold",
        )
    return found.values
