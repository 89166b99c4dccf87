"""This module makes batches of rows typed, as `ports.rows.RowSource.typed` documents."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from airflow_ddlrepl.engines.postgres.connection.quoting import quote
from airflow_ddlrepl.engines.postgres.types.arrow_values import converted
from airflow_ddlrepl.engines.postgres.types.as_written import written
from airflow_ddlrepl.engines.postgres.types.send_format import TEXTS
from airflow_ddlrepl.ports.rows import TypedRows

_CHARACTERS = ("text", "varchar")
_AS_IT_IS = ("bool", "int2", "int4", "int8", "float4", "float8", "bytea", *_CHARACTERS)
_SENT = ("numeric", "date", "time", "timestamp", "timestamptz", "interval", "uuid")


def sent_as(field: pa.Field, of: str) -> tuple[str, str]:
    """Return the encoding in which a query gives the values of a column, and the SQL for that.

    field: of the schema that they are wanted in. of: the name of the column's type. The server writes wanted texts.
    """
    column = quote(field.name)
    if pa.types.is_string(field.type) and of not in _CHARACTERS:
        return "text", written(column)
    if of in _AS_IT_IS:
        return "native", column
    if of in _SENT:
        return "binary", f"pg_catalog.{of}_send({column})"
    if of.endswith("[]") and of in TEXTS:
        return "binary", f"pg_catalog.array_send({column})"
    return "text", written(column)


def typed(
    batch: pa.RecordBatch, types: Mapping[str, str], schema: pa.Schema, encodings: Mapping[str, str]
) -> TypedRows:
    """Return the rows of a batch as values of the types of a schema. types: of the columns, by `plain_name`."""
    columns, unfit = [], {}
    for field in schema:
        values, bad = converted(batch[field.name], encodings[field.name], types[field.name], field)
        columns.append(values)
        if bad is not None:
            unfit[field.name] = bad
    rows = pa.RecordBatch.from_arrays(columns, schema=schema) if columns else batch.select([])
    return TypedRows(rows, unfit)
