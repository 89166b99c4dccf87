"""This module calls the user's function of `transform`, which computes a target's values of some columns.

The function gets the columns that it reads as text, a batch of rows at a time, and returns text. No server is known
here.
"""

from __future__ import annotations

import importlib
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.errors import FunctionFailed, Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.table_settings import SECONDS, Values
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.notation.name_pattern import matches_one
from airflow_ddlrepl.time_limit import LimitExceeded, TimeLimit

BATCH_ROWS = 10_000
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Transform:
    """A transform says which function computes which columns of one table; it can be pickled.

    function: module:function. gives, reads: the source's columns. seconds: how long it has for one batch.
    """

    function: str
    gives: tuple[str, ...]
    reads: tuple[str, ...]
    seconds: float = SECONDS


def computed_columns(values: Values | None, table: Table) -> tuple[Column, ...]:
    """Return the columns of the source's table that a function of the channel file computes."""
    return tuple(c for c in table.columns if matches_one(values.columns, c.name)) if values is not None else ()


def transform_of(values: Values | None, table: Table) -> Transform | None:
    """Return the transform of the source's table; None where the function computes none of its columns.

    Generated columns are not read: the log does not carry them. Raises Unsupported ADP-155 for a column of the key or a
    generated one among the columns to compute.
    """
    gives = computed_columns(values, table)
    if values is None or not gives:
        return None
    keys = {number for key in table.keys for number in key.columns}
    for column in gives:
        if column.id in keys or column.generated:
            why = "generated" if column.generated else "part of the key"
            raise Unsupported(
                f"`transform` gives column {column.name}, which is {why}",
                code="ADP-155",
                table=table.name,
                hint="take the column out of `columns` of the entry"
                + ("" if column.generated else ": the target could not identify its rows any more"),
            )
    wanted = (*values.reads, *values.columns)
    reads = tuple(c.name for c in table.columns if not c.generated and matches_one(wanted, c.name))
    return Transform(values.function, tuple(c.name for c in gives), reads, float(values.seconds))


def for_columns(transform: Transform | None, columns: Sequence[str]) -> Transform | None:
    """Return the transform for these columns alone; None where it computes none of them."""
    gives = tuple(name for name in transform.gives if name in columns) if transform else ()
    return replace(transform, gives=gives) if transform and gives else None


def function_of(name: str, table: TableName | None = None) -> Callable[[pa.RecordBatch], Any]:
    """Return the user's function, imported in this process; raise Unsupported ADP-156 when it can't be."""
    module, _, called = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), called)
    except Exception as error:  # noqa: BLE001 - a module of somebody's own may raise anything
        raise _unknown(name, table, f"can't be imported here: {_described(error)}") from None
    if not callable(found):
        raise _unknown(name, table, "is not a function")
    return found  # type: ignore[no-any-return]


def _unknown(name: str, table: TableName | None, why: str) -> Unsupported:
    return Unsupported(
        f"the function {name} of `transform` {why}",
        code="ADP-156",
        table=table,
        hint="install its module for the Python that runs this, or put its folder on PYTHONPATH; the driver and every"
        " Spark worker need it (docs/deployment.md)",
    )


def values(transform: Transform, rows: pa.Table, table: TableName) -> dict[str, pa.ChunkedArray]:
    """Return what the function computes for each row, as strings by column; `rows` has what it reads, as strings.

    Raises FunctionFailed INT-114 where it raises, or returns something else; ADP-156 where it can't be imported.
    """
    function = function_of(transform.function, table)
    found: dict[str, list[pa.Array]] = {name: [] for name in transform.gives}
    for batch in batches(rows.select(list(transform.reads))):
        for name, column in zip(transform.gives, _called(function, transform, batch, table), strict=True):
            found[name].append(column)
    return {name: pa.chunked_array(arrays, pa.string()) for name, arrays in found.items()}


def batches(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches of no more than a function gets at once; yield nothing where there are none."""
    for at in range(0, rows.num_rows, BATCH_ROWS):
        part = rows.slice(at, BATCH_ROWS).combine_chunks()
        yield part.to_batches()[0]


def _called(
    function: Callable[[pa.RecordBatch], Any], transform: Transform, batch: pa.RecordBatch, table: TableName
) -> list[pa.Array]:
    try:
        with TimeLimit(transform.seconds) as limit:
            result = limit(function, batch)
    except LimitExceeded as error:
        raise _failed(transform, table, f"was ended: {error} for {batch.num_rows} rows") from None
    except Exception as error:  # noqa: BLE001 - a function of somebody's own may raise anything
        raise _failed(transform, table, f"raised {_described(error, batch)}") from None
    if not isinstance(result, pa.RecordBatch | pa.Table):
        raise _failed(transform, table, f"returned {type(result).__name__}, no RecordBatch")
    if result.num_rows != batch.num_rows:
        raise _failed(transform, table, f"returned {result.num_rows} rows for {batch.num_rows}")
    return [_column(result, name, transform, table) for name in transform.gives]


def _column(result: pa.RecordBatch | pa.Table, name: str, transform: Transform, table: TableName) -> pa.Array:
    if result.schema.names.count(name) != 1:
        count = "no column" if name not in result.schema.names else "more than one column"
        raise _failed(transform, table, f"returned {count} {name}")
    column = result.column(name)
    if column.type not in (pa.string(), pa.large_string(), pa.string_view(), pa.null()):
        raise _failed(transform, table, f"returned column {name} of type {column.type}, not string")
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return column.cast(pa.string())


def _failed(transform: Transform, table: TableName, why: str) -> FunctionFailed:
    return FunctionFailed(
        f"the function {transform.function} of `transform` {why}",
        code="INT-114",
        table=table,
        hint="no change was applied; correct the function, and run again",
    )


def _described(error: Exception, batch: pa.RecordBatch | None = None) -> str:
    """Return the error's kind, its first line and where it was raised, without a line that may show a row's value."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" (line {frames[-1].lineno} of {frames[-1].name})" if batch is not None and frames else ""
    line = (str(error).splitlines() or [""])[0][:200]
    kind = type(error).__name__
    if batch is not None and any(_shows(line, column) for column in batch.columns):
        return f"{kind}{where}; its text is left out, because it may show a value"
    return f"{kind}: {line}{where}" if line else f"{kind}{where}"


def _shows(line: str, column: pa.Array) -> bool:
    """Does the line contain one of the values, or a value a word of the line?"""
    words = [word for word in _WORD.findall(line) if len(word) > 2]
    if any(pc.any(pc.match_substring(column, word, ignore_case=True)).as_py() for word in words):
        return True
    found = (value for value in pc.unique(column).to_pylist() if value and value in line)
    return any(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", line) for value in found)
