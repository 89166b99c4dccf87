"""This module hands values to DuckDB as Arrow values of the type that it holds them as: no text is in between."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb_sql.instances import scratch
from airflow_ddlrepl.engines.duckdb_sql.text_sql import JSON, from_text
from airflow_ddlrepl.ports.change_values import Converted, wanted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

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


def fetched(
    connection: Connection, values: Mapping[str, str], types: Mapping[str, str], rows: str
) -> Iterator[pa.RecordBatch]:
    """Yield what a query gives as `field_for` has it. values: SQL of each column. types: DuckDB's. rows: FROM …"""
    fields = [field_for(name, types[name]) for name in values]
    casts = [
        f"CAST({sql} AS VARCHAR)" if pa.types.is_string(one.type) else sql
        for one, sql in zip(fields, values.values(), strict=True)
    ]
    query = ", ".join(f"{sql} AS v{place}" for place, sql in enumerate(casts))
    for batch in connection.execute(f"SELECT {query} {rows}").to_arrow_reader():
        plain = [one.storage if isinstance(one, pa.ExtensionArray) else one for one in batch.columns]
        columns = [column.cast(one.type) for column, one in zip(plain, fields, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
