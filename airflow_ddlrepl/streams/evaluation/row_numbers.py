"""This module finds for each row of a batch the first of several conditions that is true, by DuckDB over Arrow."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.condition.printing import text_of
from airflow_ddlrepl.streams.evaluation.messages import holds
from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch, RowClass
from airflow_ddlrepl.streams.evaluation.sql import NotInSql, Spelling, written
from airflow_ddlrepl.streams.messages import Command

_LOCAL = threading.local()


@dataclass(slots=True)
class Program:
    """A program is conditions in order, each with the number of a row for which it is the first true one.

    otherwise: the number of the other rows. sql: the expression of a row's number; None before it is written, empty
    where SQL does not say the same. columns: that it reads.
    """

    steps: tuple[tuple[int, tree.Truth], ...]
    otherwise: int
    sql: str | None = None
    columns: tuple[str, ...] = ()


def first_true(batch: RowBatch, programs: Sequence[tuple[RowClass, Program]], into: np.ndarray[Any, Any]) -> None:
    """Put the numbers of the rows of these classes into an array. Raises RuleError RUL-118, RUL-119."""
    for rows, program in programs:
        if program.sql is None:
            _write(batch, rows, program)
    by_sql = [one for one in programs if one[1].sql]
    if by_sql:
        _by_sql(batch, by_sql, into)
    for rows, program in programs:
        if not program.sql:
            _row_by_row(batch, rows, program, into)


def _write(batch: RowBatch, rows: RowClass, program: Program) -> None:
    """Write a program as SQL, once for all batches of its kind."""
    try:
        by = _spelling(batch, rows, program)
        whens = "".join(f" WHEN {written(condition, by)} THEN {number}" for number, condition in program.steps)
        program.sql = f"CASE{whens} ELSE {program.otherwise} END"
        program.columns = tuple(_mentioned(batch, program))
    except NotInSql:
        program.sql = ""


def _by_sql(batch: RowBatch, programs: Sequence[tuple[RowClass, Program]], into: np.ndarray[Any, Any]) -> None:
    arrays = {name: batch.rows[name] for _, program in programs for name in program.columns}
    arrays |= {f"n_{name}": pa.array(flags) for name, flags in batch.absent.items()}
    arrays |= {f"m_{name}": values for name, values in batch.attributes.items()}
    if len(programs) == 1 and programs[0][0].flags is None:
        chosen = programs[0][1].sql
    else:
        group = np.full(len(batch), -1, np.int16)
        for number, (rows, _) in enumerate(programs):
            rows.put(group, number)
        arrays["g"] = pa.array(group)
        branches = "".join(f" WHEN {number} THEN {program.sql}" for number, (_, program) in enumerate(programs))
        chosen = f"CASE g{branches} ELSE -1 END"
    session = _session()
    session.register("changes", pa.table(arrays))
    try:
        found = session.execute(f"SELECT ({chosen})::INTEGER AS n FROM changes").fetchnumpy()["n"]
    except duckdb.Error as error:
        what = f"the conditions for {batch.owner}.{batch.name} can't be computed: {str(error).splitlines()[0]}"
        raise RuleError(what, code="RUL-118", hint="change the rule's condition") from None
    finally:
        session.unregister("changes")
    for rows, _ in programs:
        flags = rows.flags
        where = slice(None) if flags is None else flags
        into[where] = found[where]


def _row_by_row(batch: RowBatch, rows: RowClass, program: Program, into: np.ndarray[Any, Any]) -> None:
    for at in range(len(batch)) if rows.flags is None else np.flatnonzero(rows.flags):
        message = batch.message(int(at))
        into[at] = next((n for n, condition in program.steps if holds(condition, message)), program.otherwise)


def _session() -> duckdb.DuckDBPyConnection:
    """Return this thread's connection to DuckDB, which uses one thread: Spark runs its tasks side by side."""
    found: duckdb.DuckDBPyConnection | None = getattr(_LOCAL, "session", None)
    if found is None:
        found = _LOCAL.session = duckdb.connect(":memory:", config={"threads": 1})
        found.execute("SET TimeZone = 'UTC'")
    return found


def _mentioned(batch: RowBatch, program: Program) -> list[str]:
    """Return the columns of a batch that conditions mention, and `before`."""
    names = {
        one.column
        for _, condition in program.steps
        for one in condition.walk()
        if isinstance(one, tree.ColumnValue | tree.IsAbsent)
    }
    there = batch.rows.column_names
    found = [f"{side}_{name}" for name in batch.columns if name in names for side in "ab"]
    return ["before", *(name for name in found if name in there)]


def _spelling(batch: RowBatch, rows: RowClass, program: Program) -> Spelling:
    """Return how SQL reads the batch. Raises NotInSql for a column whose values it would change, RuleError RUL-119."""
    old, new, has_old = {}, {}, {}
    for _, condition in program.steps:
        for node in condition.walk():
            if isinstance(node, tree.Attribute) and node.name not in batch.attributes:
                raise RuleError(
                    f"{text_of(node)} is not known of the rows of {batch.owner}.{batch.name}",
                    code="RUL-119",
                    hint="take it out of the condition: docs/streams.md says what rows have",
                )
            if isinstance(node, tree.ColumnValue) and node.column not in new:
                new[node.column] = _read(batch, f"a_{node.column}", node.column)
                if rows.facts.command is not Command.INSERT and f"b_{node.column}" in batch.rows.column_names:
                    value = _read(batch, f"b_{node.column}", node.column)
                    needed = batch.needed_before(node.column)
                    is_whole = batch.least_before >= needed
                    old[node.column] = value if is_whole else f"CASE WHEN before >= {needed} THEN {value} END"
            if isinstance(node, tree.IsAbsent | tree.ColumnValue) and f"b_{node.column}" in batch.rows.column_names:
                has_old[node.column] = f"(before >= {batch.needed_before(node.column)})"
    absent = {name: _name(f"n_{name}") for name in batch.absent}
    attributes = {name: _name(f"m_{name}") for name in batch.attributes}
    return Spelling(rows.facts.command, old, new, absent, has_old, attributes)


def _read(batch: RowBatch, column: str, name: str) -> str:
    """Return the expression that reads a column. Raises NotInSql where its values would be changed by that."""
    of = batch.rows.schema.field(column).type
    if name in batch.kinds or pa.types.is_float32(of) or pa.types.is_float16(of):
        raise NotInSql(name)
    if pa.types.is_timestamp(of) and of.tz:
        return f"({_name(column)} AT TIME ZONE 'UTC')"
    return f"{_name(column)}::TIMESTAMP" if pa.types.is_date(of) else _name(column)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
