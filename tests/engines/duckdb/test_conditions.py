"""A condition gives the same rows in DuckDB as at the source, or it is refused."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pyarrow as pa
import pytest

from airflow_ddlrepl.engines.duckdb.types.physical import physical
from airflow_ddlrepl.engines.duckdb_sql.conditions import require_readable
from airflow_ddlrepl.engines.duckdb_sql.evaluator import DuckEvaluator
from airflow_ddlrepl.engines.postgres.types.arrow_values import POSTGRES_VALUES
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.notation.condition.parser import condition
from airflow_ddlrepl.ports.row_evaluator import LoggedRows, NoAnswer

NAME = TableName("public", "t")
TYPES = {
    "i": "integer",
    "n": "numeric",
    "d": "numeric(10,2)",
    "f": "double precision",
    "r": "real",
    "t": "text",
    "c": "character(5)",
    "iv": "interval",
    "b": "bytea",
    "tz": "timestamp with time zone",
    "u": "uuid",
}


def table(types: dict[str, str]) -> Table:
    return Table(
        1, NAME, tuple(Column(i, n, DataType(t, "pg_catalog", t)) for i, (n, t) in enumerate(types.items(), 1))
    )


def answer(text: str, types: dict[str, str], **values: Sequence[str | None]) -> list[bool]:
    rows = LoggedRows(
        pa.table({name: pa.array(of, pa.string()) for name, of in values.items()}),
        table(types),
        dict.fromkeys(values, "text"),
    )
    return list(map(bool, DuckEvaluator(POSTGRES_VALUES, physical).is_true(condition(text), rows)))


@pytest.mark.parametrize(
    "text",
    [
        "n > 5",
        "r = 1.1",
        "c = 'ab'",
        "c LIKE 'a%'",
        "iv = '24:00:00'",
        "b = '\\x00ff'",
        "t LIKE 'a\\_b'",
        "d = '5.001'",
        "d + 1 = '5.001'",
        "f::integer = 2",
        "f::numeric > 0.0004",
        "i = '1.0004'::numeric",
        "i = 1e3",
        "t IN ('x') AND NOT n < 10",
    ],
)
def test_a_condition_that_duckdb_answers_otherwise_is_refused(text: str) -> None:
    found = condition(text)
    shape = table(TYPES)
    columns = [column for column in shape.columns if column.name in found.names()]
    with pytest.raises(Unsupported, match="as the source does") as raised:
        require_readable(found, shape, columns, physical)
    assert raised.value.code == "ADP-148"
    with pytest.raises(NoAnswer):
        answer(text, TYPES, **{name: [None] for name in found.names()})


@pytest.mark.parametrize(
    ("text", "values", "wanted"),
    [
        ("i BETWEEN 3 AND 5 OR i IS NULL", {"i": ["2", "3", None]}, [False, True, True]),
        ("i % 2 = 0 AND i::double precision <> 4.5", {"i": ["2", "3", "-4"]}, [True, False, True]),
        ("d = 5.001 OR d IN (7, 7.5)", {"d": ["5.00", "7.50", "7.00"]}, [False, True, True]),
        ("f > 1.5", {"f": ["NaN", "1.5", "-Infinity"]}, [True, False, False]),
        ("t LIKE 'a_b%'", {"t": ["a_b", "axb", "ab"]}, [True, True, False]),
        ("n IS NOT NULL", {"n": ["NaN", None]}, [True, False]),
        ("u = '7F9C24E8-3B12-4FEF-91E0-56A2D5A0B3D1'", {"u": ["7f9c24e8-3b12-4fef-91e0-56a2d5a0b3d1"]}, [True]),
    ],
)
def test_a_condition_is_answered_as_at_the_source(
    text: str, values: dict[str, list[str | None]], wanted: list[bool]
) -> None:
    found = condition(text)
    shape = table(TYPES)
    require_readable(found, shape, [column for column in shape.columns if column.name in found.names()], physical)
    assert answer(text, TYPES, **values) == wanted


def test_moments_are_those_of_utc_wherever_the_worker_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        found = answer("tz::date = '2024-06-02'", TYPES, tz=["2024-06-02 01:00:00+00", "2024-06-03 01:00:00+00"])
        assert found == [True, False]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_columns_whose_names_differ_in_case_alone_are_two() -> None:
    assert answer('a = 1 AND "A" = 2', {"a": "integer", "A": "integer"}, a=["1", "2"], A=["2", "1"]) == [True, False]
