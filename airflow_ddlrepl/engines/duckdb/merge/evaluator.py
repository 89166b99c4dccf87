"""This module answers questions about rows of the log in DuckDB's own SQL, in memory: no file is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.duckdb.connection.quoting import literal, quote
from airflow_ddlrepl.engines.duckdb.types.physical import from_text, physical
from airflow_ddlrepl.errors import RowsRefused, Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.notation.condition.expression import Part, Spelling
from airflow_ddlrepl.notation.condition.parser import spelled
from airflow_ddlrepl.ports.row_evaluator import LoggedRows, NoAnswer, RowEvaluator

if TYPE_CHECKING:
    from airflow_ddlrepl.integrate.netting.equality import Ints
    from airflow_ddlrepl.integrate.netting.presence import Flags

_ROWS = "ddlrepl_logged"


class DuckEvaluator(RowEvaluator):
    """This evaluator reads the values as a table of DuckDB would hold them. table: at the target."""

    def __init__(self, table: TableName) -> None:
        self._table = table

    def is_true(self, condition: Part, rows: LoggedRows) -> Flags:
        import duckdb

        types = {column.name: column for column in rows.table.columns}
        held = {name: _held(name, rows.values, types[name], rows.table.types) for name in rows.values.column_names}
        try:
            found: Flags = _ask(rows.values, {"found": _is_true(condition, held)})["found"].to_numpy()
            return found
        except duckdb.Error as error:
            raise NoAnswer(" ".join(str(error).split())) from None

    def texts(self, rows: LoggedRows) -> pa.Table:
        """Return the texts. Raises RowsRefused INT-120 for values that the log does not have as texts."""
        found: dict[str, Any] = {}
        for name in rows.values.column_names:
            values = rows.values[name]
            if pa.types.is_boolean(values.type):
                found[name] = pc.if_else(values, "t", "f")
            elif pa.types.is_string(values.type) or pa.types.is_integer(values.type):
                found[name] = values.cast(pa.string())
            else:
                raise RowsRefused(
                    f"the text of values of column {name} is not known here: the log has them as {values.type}",
                    code="INT-120",
                    table=self._table,
                    hint="write `capture: {format: text}`, or leave the column out of `reads` in `transform`",
                )
        return pa.table(found)

    def misfits(self, rows: LoggedRows, columns: Mapping[str, Column]) -> pa.Table:
        texts = self.texts(rows)
        asked = {}
        for name in texts.column_names:
            ours, value = columns[name].type, f"s.{quote(name)}"
            why = literal(f" is no {ours.text}")
            wrong = f"TRY_CAST({value} AS {physical(ours, rows.table.types)}) IS NULL"
            asked[name] = f"CASE WHEN {value} IS NOT NULL AND {wrong} THEN {value} || {why} END"
        return _ask(texts, asked)

    def key_numbers(self, rows: LoggedRows, columns: Mapping[str, Column]) -> Ints:
        held = (_held(name, rows.values, columns[name], rows.table.types) for name in rows.values.column_names)
        found: Ints = _ask(rows.values, {"n": f"dense_rank() OVER (ORDER BY {', '.join(held)})"})["n"].to_numpy()
        return found


def require_readable(condition: Part, table: Table, columns: Sequence[Column]) -> None:
    """Raise Unsupported ADP-148, with DuckDB's message, unless it takes the condition. No row is read."""
    import duckdb

    nulls = {column.name: f"CAST(NULL AS {physical(column.type, table.types)})" for column in columns}
    try:
        with duckdb.connect(":memory:") as connection:
            connection.execute(f"SELECT {_is_true(condition, nulls)}")
    except duckdb.Error as error:
        raise Unsupported(
            f"the condition {spelled(condition)} can't be read: {' '.join(str(error).split())}",
            code="ADP-148",
            table=table.name,
            hint="correct the condition in `restrict`",
        ) from None


def _is_true(condition: Part, held: Mapping[str, str]) -> str:
    return f"({condition.sql(Spelling(held.__getitem__, literal))}) IS TRUE"


def _held(name: str, values: pa.Table, column: Column, types: Sequence[TypeDefinition]) -> str:
    """Return SQL for a value as a column of DuckDB holds it."""
    to, value = physical(column.type, types), f"s.{quote(name)}"
    return from_text(value, to) if pa.types.is_string(values.schema.field(name).type) else f"CAST({value} AS {to})"


def _ask(rows: pa.Table, values: Mapping[str, str]) -> pa.Table:
    """Return what DuckDB computes for each row, in their order. values: SQL over the rows `s`, by name."""
    import duckdb

    wanted = ", ".join(f"{sql} AS {quote(name)}" for name, sql in values.items())
    numbered = rows.append_column("ddlrepl i", pa.array(range(rows.num_rows), pa.int64()))
    with duckdb.connect(":memory:") as connection:
        connection.register(_ROWS, numbered)
        found = connection.execute(f'SELECT {wanted} FROM {_ROWS} AS s ORDER BY s."ddlrepl i"').arrow()
        return found if isinstance(found, pa.Table) else found.read_all()
