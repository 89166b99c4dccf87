"""This module asks a PostgreSQL target about rows of the log: what its own SQL says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.connection.conditions import is_true
from airflow_ddlrepl.engines.postgres.connection.errors import passing
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.connection.settings import SCHEMA, SPELLING_HERE
from airflow_ddlrepl.engines.postgres.merge.copy_arrow import drop_stages, load, stage_table
from airflow_ddlrepl.engines.postgres.merge.key_numbers import numbered
from airflow_ddlrepl.engines.postgres.merge.staging_tables import StagedColumn, staged_column
from airflow_ddlrepl.engines.postgres.types.misfits import functions, misfit
from airflow_ddlrepl.engines.postgres.types.underlying import underlying
from airflow_ddlrepl.integrate.steps.row_columns import RowColumn
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.ports.row_evaluator import LoggedRows, NoAnswer, RowEvaluator

if TYPE_CHECKING:
    from airflow_ddlrepl.integrate.netting.equality import Ints
    from airflow_ddlrepl.integrate.netting.presence import Flags

_WHOLE_NUMBERS = ("int2", "int4", "int8")


class PostgresEvaluator(RowEvaluator):
    """This evaluator copies rows into a table of the target and evaluates SQL over it.

    cursor: opens one on the target. stage_name: of the task, by which the table is named; it is gone at the end.
    """

    def __init__(self, cursor: Callable[[], Any], stage_name: str) -> None:
        self._cursor = cursor
        self._stage_name = stage_name

    def is_true(self, condition: Part, rows: LoggedRows) -> Flags:
        columns, cursor = _columns(rows), self._cursor()
        by_name = {column.source_name: column for column in columns}
        wanted = is_true(condition, lambda name: by_name[name].image("s"))
        with sql_evaluator(cursor, self._table("q"), columns, rows.values) as ask:
            try:
                found: Flags = ask(wanted).column(0).to_numpy()
                return found
            except cursor.connection.Error as error:
                if (trouble := passing(error, "the target")) is not None:
                    raise trouble from None
                raise NoAnswer(" ".join(str(error).split())) from None

    def as_text(self, rows: LoggedRows) -> pa.Table:
        """Return the texts; texts, whole numbers and truth values need no server."""
        types = {column.name: column.type for column in rows.table.columns}
        found: dict[str, Any] = {}
        for name in rows.values.column_names:
            values = rows.values[name]
            if pa.types.is_string(values.type):
                found[name] = values
            elif underlying(types[name], rows.table.types)[0] in _WHOLE_NUMBERS:
                found[name] = values.cast(pa.string())
            elif pa.types.is_boolean(values.type):
                found[name] = pc.if_else(values, "t", "f")
        if others := [column for column in _columns(rows) if column.source_name not in found]:
            asked = ", ".join(f"{column.text('s')} AS {column.staged_name}" for column in others)
            values = rows.values.select([column.source_name for column in others])
            with sql_evaluator(self._cursor(), self._table("q"), others, values) as ask:
                found |= zip((column.source_name for column in others), ask(asked).columns, strict=True)
        return pa.table({name: found[name] for name in rows.values.column_names})

    def misfits(self, rows: LoggedRows, columns: Mapping[str, Column]) -> pa.Table:
        cursor, staged = self._cursor(), _columns(rows)
        for statement in functions(columns.values()):
            cursor.execute(statement)
        asked = (f"{misfit(columns[one.source_name], one.text('s'))} AS {one.staged_name}" for one in staged)
        with sql_evaluator(cursor, self._table("q"), staged, rows.values) as ask:
            return ask(", ".join(asked)).rename_columns([one.source_name for one in staged])

    def key_numbers(self, rows: LoggedRows, columns: Mapping[str, Column]) -> Ints:
        name, cursor = self._table("k"), self._cursor()
        drop_stages(cursor, [name])
        return numbered(cursor, name, rows.values, _columns(rows, columns), rows.table.types)

    def _table(self, kind: str) -> str:
        return stage_table(self._stage_name, kind)


def _columns(rows: LoggedRows, ours: Mapping[str, Column] = {}) -> list[StagedColumn]:
    """Return how the rows' columns are staged, in their order. ours: columns of the target that take their values."""
    theirs = {column.name: column for column in rows.table.columns}
    asked = (
        RowColumn(name, ours.get(name, theirs[name]), theirs[name], rows.encodings[name])
        for name in rows.values.column_names
    )
    return [staged_column(one, rows.table.types) for one in asked]


SECONDS = 600
"""The server has so long for one table's rows: a row may have numbers of 100,000 digits to be multiplied."""


@contextmanager
def sql_evaluator(
    cursor: Any, name: str, columns: Sequence[StagedColumn], rows: pa.Table
) -> Iterator[Callable[[str], pa.Table]]:
    """Yield a function that evaluates SQL over the staged columns of `s`; it returns values in the order of the rows.

    name: of a staging table to use; it is gone at the end. rows: the columns' values, at least one row.
    """
    numbered = rows.append_column("i", pa.array(range(rows.num_rows), pa.int64()))
    drop_stages(cursor, [name])
    load(cursor, name, [*((column.staged_name, column.staging_type) for column in columns), ("i", "int8")], numbered)
    cursor.execute(f"{SPELLING_HERE}, {_timeout(SECONDS)}")
    cursor.fetchall()

    def ask(values: str) -> pa.Table:
        cursor.execute(f"SELECT {values} FROM {qualified(TableName(SCHEMA, name))} s ORDER BY s.i")
        return cursor.fetch_arrow_table()

    yield ask
    cursor.execute(f"SELECT {_timeout(0)}")
    cursor.fetchall()
    drop_stages(cursor, [name])


def _timeout(seconds: int) -> str:
    """Return SQL that limits statements up to the end of the transaction; 0: there is no limit."""
    return f"pg_catalog.set_config('statement_timeout', '{seconds}s', true)"
