"""Values are handed to DuckDB as Arrow values of the type that it holds them as, and none becomes another one."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from airflow_ddlrepl.engines.duckdb.types.physical import physical
from airflow_ddlrepl.engines.duckdb_sql.arrow import as_held, field_for
from airflow_ddlrepl.engines.duckdb_sql.text_sql import TEXT
from airflow_ddlrepl.engines.postgres.types.arrow_values import POSTGRES_VALUES
from airflow_ddlrepl.model.table import Column
from tests.engines.duckdb.test_types import VALUES, of


def handed_over(type_: str, texts: list[str | None]) -> tuple[pa.Array, str]:
    held = physical(of(type_))
    column = Column(1, "c", of(type_))
    found = POSTGRES_VALUES.converted(pa.array(texts, pa.string()), "text", column, field_for("c", held))
    return as_held(found, held), held


@pytest.mark.parametrize(("type_", "text", "shown"), VALUES)
def test_a_value_is_handed_over_without_a_text(type_: str, text: str, shown: str) -> None:
    values, held = handed_over(type_, [text, None])
    assert pa.types.is_string(values.type) is (held in (TEXT, "JSON", "UUID"))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("given", pa.table({"v": values}))
        connection.execute(f"CREATE TABLE t (v {held})")
        connection.execute("INSERT INTO t SELECT v FROM given")
        assert connection.execute("SELECT CAST(v AS VARCHAR) FROM t").fetchall() == [(shown,), (None,)]
        if held not in ("JSON", "UUID"):
            assert connection.execute("DESCRIBE given").fetchall()[0][1] == held, "DuckDB casts nothing"


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("numeric(10,2)", "NaN"),
        ("timestamp without time zone", "294276-12-31 00:00:00"),
        ("integer", "2147483648"),
        ("json", '{"a": 1'),
    ],
)
def test_a_value_that_duckdb_can_not_hold_is_refused(type_: str, text: str) -> None:
    with pytest.raises(duckdb.Error):
        handed_over(type_, ["1", text] if type_ == "integer" else [None, text])


def test_duckdb_reads_what_a_function_has_written_in_another_way_beside_infinities() -> None:
    values, _ = handed_over("timestamp without time zone", ["infinity", "2020-02-29T10:00:00Z", None])
    assert values.view(pa.int64()).to_pylist() == [2**63 - 1, 1582970400000000, None]
