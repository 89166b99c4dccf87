"""What an engine without SQL of its own says of rows: each value's text is the one that the source writes."""

from __future__ import annotations

import pyarrow as pa

from airflow_ddlrepl.engines.postgres.types.arrow_values import POSTGRES_VALUES
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.ports.row_evaluator import LoggedRows, RowEvaluator

VALUES = {
    "bool": (pa.array([True, None]), ["t", None]),
    "int4": (pa.array([-7, 8], pa.int32()), ["-7", "8"]),
    "date": (pa.array([0, -1], pa.int32()), ["2000-01-01", "1999-12-31"]),
    "float8": (pa.array([0.1, 1e15]), ["0.1", "1e+15"]),
    "bytea": (pa.array([b"\0\xff", b""]), ["\\x00ff", "\\x"]),
    "text": (pa.array(["", None]), ["", None]),
}


def test_values_of_the_log_have_the_texts_of_the_source() -> None:
    types = (DataType(name, "pg_catalog", name) for name in VALUES)
    table = Table(1, TableName("public", "t"), tuple(Column(i, of.name, of) for i, of in enumerate(types, 1)))
    rows = LoggedRows(
        pa.table({name: values for name, (values, _) in VALUES.items()}), table, dict.fromkeys(VALUES, "native")
    )
    assert RowEvaluator(POSTGRES_VALUES).as_text(rows).to_pydict() == {n: texts for n, (_, texts) in VALUES.items()}
