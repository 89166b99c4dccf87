"""This module hands values to DuckDB as Arrow values of the type that it holds them as: no text is in between."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb.connection.database import scratch
from airflow_ddlrepl.engines.duckdb.types.physical import JSON, from_text
from airflow_ddlrepl.ports.change_values import Converted, wanted

_ARROW = {
    "BOOLEAN": pa.bool_(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BLOB": pa.binary(),
    "DATE": pa.date32(),
    "TIME": pa.time64("us"),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def field_for(name: str, duckdb_type: str) -> pa.Field:
    """Return the field of the values of a column that DuckDB holds as this type; a text where Arrow has none like it.

    UUIDs are texts: DuckDB refuses to filter Arrow's. Its infinities are the ends of the integers, as in `wanted`.
    """
    size = _DECIMAL.fullmatch(duckdb_type)
    plain = pa.decimal128(int(size[1]), int(size[2])) if size else _ARROW.get(duckdb_type, pa.string())
    return wanted(name, plain, with_ends=True)


def each_held(
    values: pa.ChunkedArray, duckdb_type: str, convert: Callable[[pa.Array, pa.Field], Converted]
) -> pa.ChunkedArray:
    """Return values of a column as DuckDB holds them. convert: returns a chunk of them in the type of a field."""
    field = field_for("value", duckdb_type)
    return pa.chunked_array([as_held(convert(chunk, field), duckdb_type) for chunk in values.chunks], field.type)


def as_held(found: Converted, duckdb_type: str) -> pa.Array:
    """Return the values of a column that was wanted as `field_for` says, all of them such as DuckDB takes.

    duckdb_type: there. A value without an equal in Arrow is read by DuckDB from its text, and so is JSON. Raises what
    DuckDB raises of a text that is no value of its type.
    """
    values, texts = (pa.nulls(len(found.values), pa.string()), found.values) if duckdb_type == JSON else found
    if texts is None:
        return values
    read = f"CASE WHEN texts IS NULL THEN value ELSE {from_text('texts', duckdb_type)} END"
    with scratch() as connection:
        connection.register("given", pa.table({"value": values, "texts": texts}))
        whole = connection.execute(f"SELECT {read} AS value FROM given").to_arrow_table()["value"].combine_chunks()
    return found.values if duckdb_type == JSON else whole.cast(found.values.type)
