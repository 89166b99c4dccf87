"""This module says in which Arrow type the values of a type of DuckDB are handed over: no text is in between."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb.types.physical import from_text
from airflow_ddlrepl.ports.change_values import wanted
from airflow_ddlrepl.ports.rows import TypedRows

_ARROW = {
    "BOOLEAN": pa.bool_(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BLOB": pa.binary(),
    "UUID": pa.uuid(),
    "DATE": pa.date32(),
    "TIME": pa.time64("us"),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def field_for(name: str, held: str) -> pa.Field:
    """Return the field of the values of a column that DuckDB holds as this type; a text where Arrow has none like it.

    DuckDB's infinities are the ends of the integers, as `wanted` has them.
    """
    size = _DECIMAL.fullmatch(held)
    plain = pa.decimal128(int(size[1]), int(size[2])) if size else _ARROW.get(held, pa.string())
    return wanted(name, plain, with_ends=True)


def value_sql(name: str, held: str, unfit: str = "") -> str:
    """Return SQL for the value of a column of Arrow's, as DuckDB holds it. name, unfit: names that need no quotes.

    unfit: of the column with the texts of values that Arrow can't have: DuckDB reads those itself, or refuses them.
    """
    value = f"CAST({name} AS {held})"
    return f"CASE WHEN {unfit} IS NULL THEN {value} ELSE {from_text(unfit, held)} END" if unfit else value


def as_held(batch: TypedRows, held: Sequence[str]) -> tuple[pa.RecordBatch, str]:
    """Return rows for DuckDB, with columns `v0`, `v1`, …, and SQL for the values as it holds them.

    held: DuckDB's type of each column.
    """
    rows, values = batch.rows.rename_columns([f"v{place}" for place in range(len(held))]), []
    for place, (name, of) in enumerate(zip(batch.rows.schema.names, held, strict=True)):
        texts = batch.unfit.get(name)
        if texts is not None:
            rows = rows.append_column(f"u{place}", texts)
        values.append(value_sql(f"v{place}", of, f"u{place}" if texts is not None else ""))
    return rows, ", ".join(values)
