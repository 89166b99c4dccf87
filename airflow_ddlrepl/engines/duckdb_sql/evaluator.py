"""This module answers questions about rows of the log in DuckDB's own SQL, in memory: no file is opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb_sql.arrow import each_held
from airflow_ddlrepl.engines.duckdb_sql.conditions import is_true, why_unlike
from airflow_ddlrepl.engines.duckdb_sql.instances import scratch
from airflow_ddlrepl.engines.duckdb_sql.physical import Physical
from airflow_ddlrepl.engines.duckdb_sql.read_texts import values_of, why_not
from airflow_ddlrepl.engines.duckdb_sql.text_sql import TEXT
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.ports.row_evaluator import LoggedRows, NoAnswer, RowEvaluator

if TYPE_CHECKING:
    from airflow_ddlrepl.integrate.netting.presence import Flags

_ROWS = "ddlrepl_logged"


class DuckEvaluator(RowEvaluator):
    """This evaluator has the values as a target holds them. values: converts those of the trail."""

    def __init__(self, values: ChangeValues, physical: Physical) -> None:
        super().__init__(values)
        self._physical = physical

    def is_true(self, condition: Part, rows: LoggedRows) -> Flags:
        import duckdb

        columns = {column.name: column for column in rows.table.columns}
        names = rows.values.column_names
        if why := why_unlike(condition, [columns[name] for name in names], self._physical):
            raise NoAnswer(why)
        try:
            held = [self._physical(columns[name].type, rows.table.types) for name in names]
            values = [
                each_held(rows.values[name], of, self.converter(rows, columns[name]))
                for name, of in zip(names, held, strict=True)
            ]
            places = [f"v{place}" for place in range(len(names))]
            given = pa.table([*values, pa.array(range(rows.values.num_rows))], [*places, "place"])
            casts = {n: f"CAST({at} AS {of})" for n, at, of in zip(names, places, held, strict=True)}
            with scratch() as connection:
                connection.register(_ROWS, given)
                query = f"SELECT {is_true(condition, casts)} AS flag FROM {_ROWS} ORDER BY place"
                found: Flags = connection.execute(query).fetchnumpy()["flag"]
        except duckdb.Error as error:
            raise NoAnswer(" ".join(str(error).split())) from None
        return found

    def misfits(self, rows: LoggedRows, columns: Mapping[str, Column]) -> pa.Table:
        texts = self.as_text(rows)
        asked, held = {name: texts[name] for name in columns}, dict.fromkeys(columns, TEXT)

        def why(text: str, name: str) -> str:
            return why_not(text, columns[name], self._physical(columns[name].type))

        return pa.table(values_of(asked, held, why))
