"""This module answers questions about rows of the log in DuckDB's own SQL, in memory: no file is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb.connection.database import scratch
from airflow_ddlrepl.engines.duckdb.merge.conditions import is_true, why_unlike
from airflow_ddlrepl.engines.duckdb.types.physical import from_text, physical
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.ports.row_evaluator import LoggedRows, NoAnswer, RowEvaluator

if TYPE_CHECKING:
    from airflow_ddlrepl.integrate.netting.presence import Flags

_ROWS = "ddlrepl_logged"


class DuckEvaluator(RowEvaluator):
    """This evaluator reads the values as a table of DuckDB would hold them. table: at the target."""

    def __init__(self, table: TableName) -> None:
        self._table = table

    def is_true(self, condition: Part, rows: LoggedRows) -> Flags:
        import duckdb

        columns = {column.name: column for column in rows.table.columns}
        names = rows.values.column_names
        if why := why_unlike(condition, [columns[name] for name in names]):
            raise NoAnswer(why)
        held = {}
        for place, (name, of) in enumerate(zip(names, rows.values.schema.types, strict=True)):
            to, value = physical(columns[name].type, rows.table.types), f"v{place}"
            held[name] = from_text(value, to) if pa.types.is_string(of) else f"CAST({value} AS {to})"
        values = rows.values.rename_columns([f"v{place}" for place in range(len(names))])
        try:
            with scratch() as connection:
                connection.register(_ROWS, values.append_column("place", pa.array(range(len(values)))))
                query = f"SELECT {is_true(condition, held)} AS flag FROM {_ROWS} ORDER BY place"
                found: Flags = connection.execute(query).fetchnumpy()["flag"]
        except duckdb.Error as error:
            raise NoAnswer(" ".join(str(error).split())) from None
        return found
