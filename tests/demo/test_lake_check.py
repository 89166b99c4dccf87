"""What the demo says of a lake: a value that a reader sees otherwise is a difference."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from pyiceberg.types import StringType

from airflow_ddlrepl.demo.lake.check import LAST_DAY, LAST_MOMENT, past_of, unlike_tables
from airflow_ddlrepl.demo.lake.readers import pyiceberg_catalog
from tests.conftest import Databases

ROWS = {
    "id": pa.array([1, 2, 3], pa.int32()),
    "at": pa.array([LAST_MOMENT, -LAST_MOMENT, None], pa.int64()).cast(pa.timestamp("us", "UTC")),
    "day": pa.array([LAST_DAY, -LAST_DAY, 1], pa.int32()).cast(pa.date32()),
    "note": pa.array(['{"a": 1.0}', None, None]),
    "n": pa.array([float("nan"), 1.5, -0.5]),
    "raw": pa.array([b"\x00\xff", b"", None]),
}
SOURCE = """
create table t (id int, at timestamptz, day date, note json, n float8, raw bytea);
insert into t values (1, 'infinity', 'infinity', '{"a": 1.0}', 'NaN', '\\x00ff'),
    (2, '-infinity', '-infinity', null, 1.5, ''), (3, null, '1970-01-02', null, -0.5, null);
"""


@pytest.mark.parametrize("column", ["", *ROWS])
def test_each_value_is_compared(databases: Databases, column: str) -> None:
    rows: dict[str, Any] = dict(ROWS)
    if column:
        rows[column] = rows[column].take(pa.array([1, 0, 2]))
    with psycopg.connect(databases.source) as connection:
        connection.execute(SOURCE)
        found = list(unlike_tables(connection, {"t": list(rows)}, lambda _: pa.table(rows)))
    assert len(found) == bool(column), found


def test_a_column_that_one_side_lacks_is_told(databases: Databases) -> None:
    with psycopg.connect(databases.source) as connection:
        connection.execute("create table t (id int, more text)")
        found = list(unlike_tables(connection, {"t": ["id", "more"]}, lambda _: pa.table({"id": ROWS["id"]})))
    assert found == ["t: columns differ: ['more']"]


def test_a_table_is_read_as_it_was(tmp_path: Path) -> None:
    """PyIceberg writes it here."""
    location = f"iceberg://{tmp_path}/catalog.db"
    with closing(pyiceberg_catalog(location)) as catalog:
        catalog.create_namespace("public")
        assert past_of(location) == "no table with rows lost or renamed a column"
        table = catalog.create_table(("public", "orders"), pa.schema([("id", pa.int32()), ("note", pa.string())]))
        table.append(pa.table({"id": pa.array([1, 2], pa.int32()), "note": ["a", "b"]}))
        table.update_schema().add_column("more", StringType()).delete_column("id").commit()
        table.append(pa.table({"note": ["c"], "more": ["d"]}))
        assert past_of(location) == "orders before its column id was dropped: 2 rows"
        table.update_schema().rename_column("note", "remark").commit()
        assert past_of(location) == "orders before its column note became remark: 3 rows"
