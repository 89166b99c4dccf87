"""Rows of a PostgreSQL table as other databases read them: text by column, whatever the types are."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_ddlrepl.config.sections.policies import DdlCapture
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.load.table_rows import BINARY, TEXT, TableRows, page_ranges, sharing_sessions
from airflow_ddlrepl.engines.postgres.source import helper_schema
from airflow_ddlrepl.engines.postgres.source.exported_snapshot import source_snapshot
from airflow_ddlrepl.engines.postgres.source.source import PostgresSource
from airflow_ddlrepl.engines.source_catalog import RowSelection, SourceSnapshot
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.mapping.values import Transform
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.condition.parser import condition
from airflow_ddlrepl.ports.change_values import wanted
from airflow_ddlrepl.ports.rows import RowSource
from tests.support.replica import run

VALUES = """
CREATE TYPE mood AS ENUM ('so so', 'glad');
CREATE TYPE pair AS (a int, b text);
CREATE TABLE "odd ""names" (
  id int PRIMARY KEY, "a,b" text, n numeric, bytes bytea, many text[], at timestamptz, m mood, p pair, f float8
);
INSERT INTO "odd ""names" VALUES
  (1, E'it''s "q"\\tü\\n\\\\N', 1.10, '\\x00ff', ARRAY['a,b', NULL, 'NULL', ''], '2020-01-01 12:00+02', 'so so',
   ROW(1, 'x y'), 0.1),
  (2, NULL, 'NaN', NULL, NULL, NULL, NULL, NULL, 'Infinity'),
  (3, '', 1e20, '', '{}', 'infinity', 'glad', ROW(NULL, NULL), '-0');
"""


@pytest.fixture
def table(databases: Any) -> Table:
    run(databases.source, VALUES)
    with connect(databases.source) as connection:
        helper_schema.install(connection, DdlCapture.RELATIONS)
        return inspect(connection)[0]


@contextmanager
def snapshot(dsn: str, table: Table) -> Iterator[SourceSnapshot]:
    with source_snapshot(dsn, [table.id]) as found:
        yield found


def texts(rows: Sequence[RowSource]) -> list[tuple[str | None, ...]]:
    """As a task of another process reads them, in the order of the first column."""
    found = [pickle.loads(pickle.dumps(one)) for one in rows]
    batches = [batch for one in found for batch in one.batches()]
    return sorted(
        (row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)),
        key=lambda row: str(row[0]),
    )


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
def test_every_value_is_its_text(databases: Any, table: Table) -> None:
    columns = ("id", "a,b", "n", "bytes", "many", "at", "m", "p", "f")
    run(databases.source, "ALTER DATABASE " + databases.source.rpartition("/")[2] + " SET bytea_output = 'escape'")
    with snapshot(databases.source, table) as source:
        run(databases.source, """INSERT INTO "odd ""names" VALUES (4)""")
        chunks = source.chunks(RowSelection(table, columns), 1 << 30)
        found = texts(chunks)
        assert [batch.schema.names for batch in chunks[0].batches()] == [list(columns)]
    assert found == [
        (
            *("1", 'it\'s "q"\tü\n\\N', "1.10", "\\x00ff", '{"a,b",NULL,"NULL",""}', "2020-01-01 10:00:00+00"),
            *("so so", '(1,"x y")', "0.1"),
        ),
        ("2", None, "NaN", None, None, None, None, None, "Infinity"),
        ("3", "", "100000000000000000000", "\\x", "{}", "infinity", "glad", "(,)", "-0"),
    ]


@pytest.mark.parametrize("is_plain", [False, True])
def test_every_value_in_a_wanted_type(databases: Any, table: Table, is_plain: bool) -> None:
    types = {
        "id": pa.int64(),
        "a,b": pa.string(),
        "n": pa.decimal128(6, 2),
        "bytes": pa.binary(),
        "many": pa.list_(pa.string()),
        "at": pa.timestamp("us", "UTC"),
        "m": pa.string(),
        "p": pa.struct([("a", pa.int32()), ("b", pa.string())]),
        "f": pa.float64(),
    }
    schema = pa.schema([wanted(name, one) for name, one in types.items()])
    with snapshot(databases.source, table) as source:
        (rows,) = source.chunks(RowSelection(table, tuple(types)), 1 << 30)
        assert isinstance(rows, TableRows)
        (found,) = pickle.loads(pickle.dumps(replace(rows, is_plain=is_plain))).typed(schema)
    found.rows.validate(full=True)
    assert found.rows.schema == schema
    at = datetime(2020, 1, 1, 10, tzinfo=UTC)
    assert sorted((tuple(row.values()) for row in found.rows.to_pylist()), key=lambda row: row[0]) == [
        (1, 'it\'s "q"\tü\n\\N', Decimal("1.10"), b"\0\xff", ["a,b", None, "NULL", ""], at, "so so",
         {"a": 1, "b": "x y"}, 0.1),
        (2, None, None, None, None, None, None, None, float("inf")),
        (3, "", None, b"", [], None, "glad", {"a": None, "b": None}, 0.0),
    ]  # fmt: skip
    unfit = {name: [one for one in texts.to_pylist() if one] for name, texts in found.unfit.items()}
    assert unfit == {"n": ["NaN", "100000000000000000000"], "at": ["infinity"]}


def test_columns_are_in_the_order_asked_for_and_rows_those_of_the_condition(databases: Any, table: Table) -> None:
    wanted = condition("n = 1.1 OR id = 3")
    with snapshot(databases.source, table) as source:
        assert texts(source.chunks(RowSelection(table, ("m", "id"), wanted), 1 << 30)) == [
            ("glad", "3"),
            ("so so", "1"),
        ]
        (none,) = source.chunks(RowSelection(table, (), wanted), 1 << 30)
        assert [(batch.num_rows, batch.num_columns) for batch in none.batches()] == [(2, 0)]
        copied = none.native(TEXT)
        assert copied is not None and b"".join(copied) == b"\n\n"


def upper(batch: Any) -> Any:
    return pa.RecordBatch.from_pydict({"m": [f"{m} {i}" for m, i in zip(*map(list, batch.columns), strict=True)]})


def test_values_of_a_function_come_as_text_alone(databases: Any, table: Table) -> None:
    transform = Transform(f"{__name__}:upper", ("m",), ("m", "id"))
    selection = RowSelection(table, ("n", "m"), condition("id = 1"), transform)
    with snapshot(databases.source, table) as source:
        (rows,) = source.chunks(selection, 1 << 30)
        assert texts([rows]) == [("1.10", "so so 1")]
        assert rows.native(TEXT) is None and rows.native(BINARY) is None


def test_a_whole_table_is_read_without_an_exported_snapshot(databases: Any, table: Table) -> None:
    source = PostgresSource(databases.source, channel="c", publication="p", slot="s")
    with source, source.reading([table.id]) as selected:
        rows = selected(RowSelection(table, ("id",)))
        assert texts([rows]) == [("1",), ("2",), ("3",)]
        run(databases.source, """DELETE FROM "odd ""names" WHERE id = 2""")
        assert texts([rows]) == [("1",), ("3",)]
        assert list(rows.native(TEXT) or ()) == [b"1\n3\n"]
    assert databases.source not in repr(rows) and databases.server.password not in repr(rows)


def test_binary_format_is_for_types_that_are_the_same_everywhere(databases: Any, table: Table) -> None:
    run(databases.source, "CREATE TABLE plain (id int, v text[])", "INSERT INTO plain VALUES (1, '{a}')")
    with connect(databases.source) as connection:
        plain = next(one for one in inspect(connection) if one.name.name == "plain")
    with source_snapshot(databases.source, [table.id, plain.id]) as source:
        (first,) = source.chunks(RowSelection(table, ("id",)), 1 << 30)
        (second,) = source.chunks(RowSelection(plain, ("id", "v")), 1 << 30)
        assert first.native(BINARY) is None and first.native("another format") is None
        assert b"".join(second.native(BINARY) or ()).startswith(b"PGCOPY\n")


def test_chunks_have_every_row_once(databases: Any) -> None:
    run(databases.source, "CREATE TABLE t (id int)", "INSERT INTO t SELECT generate_series(1, 5000)")
    with connect(databases.source) as connection:
        (table,) = inspect(connection)
        with snapshot(databases.source, table) as source:
            (whole,) = source.chunks(RowSelection(table, ("id",)), 3 * 8192)
            assert len(texts([whole])) == 5000, "nobody can tell whether a query runs code of its owner"
        helper_schema.install(connection, DdlCapture.RELATIONS)
    with snapshot(databases.source, table) as source:
        chunks = source.chunks(RowSelection(table, ("id",)), 3 * 8192)
        assert len(chunks) == 8 and max(chunk.size for chunk in chunks) <= 3 * 8192
        assert sorted(int(row[0] or 0) for row in texts(chunks)) == list(range(1, 5001))


def test_rows_that_can_not_be_read_are_an_error_of_the_source(databases: Any, table: Table) -> None:
    with snapshot(databases.source, table) as source:
        (rows,) = source.chunks(RowSelection(table, ("id", "absent")), 1 << 30)
        with pytest.raises(SourceError, match=r"SRC-170.*absent"):
            list(rows.batches())
        with pytest.raises(SourceError, match=r"SRC-170.*absent"):
            list(rows.native(TEXT) or ())
    with pytest.raises(SourceError, match="SRC-170"):  # the snapshot is over
        list(rows.batches())


def test_chunks_that_are_read_together_share_a_session(databases: Any, table: Table) -> None:
    """Also after one that nobody read to its end, whose session is gone."""
    run(
        databases.source,
        "CREATE TABLE t (v text)",
        "INSERT INTO t SELECT repeat('x', 10000) FROM generate_series(1, 999)",
    )
    with connect(databases.source) as connection:
        large = next(one for one in inspect(connection) if one.name.name == "t")
    with source_snapshot(databases.source, [table.id, large.id]) as source:
        (small,) = source.chunks(RowSelection(table, ("id",)), 1 << 30)
        (half,) = source.chunks(RowSelection(large, ("v",)), 1 << 30)
        with sharing_sessions():
            for _ in range(3):
                assert list(small.native(TEXT) or ()) == [b"1\n2\n3\n"]
            assert sessions(databases.source, 2) == 2  # and that of the snapshot
            blocks = half.native(TEXT)
            assert blocks is not None and next(blocks)
            del blocks
            assert list(small.native(TEXT) or ()) == [b"1\n2\n3\n"]
            assert next(half.native(TEXT) or iter(()))
        assert sessions(databases.source, 1) == 1


def sessions(dsn: str, expected: int) -> int:
    """How many there are, once it is as many as expected: a backend that was told goodbye takes its time."""
    query = (
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ddlrepl refresh'"
        " AND datname = current_database()"
    )
    with psycopg.connect(dsn, autocommit=True) as connection:
        for _ in range(100):
            row = connection.execute(query).fetchone()
            assert row is not None
            if row[0] == expected:
                break
            connection.execute("SELECT pg_sleep(0.05)")
        assert row is not None
        return int(row[0])


@given(st.integers(0, 100_000), st.integers(10, 5000))
def test_every_page_is_in_one_range(pages: int, most: int) -> None:
    found = page_ranges(pages, most)
    assert found[0][0] == 0 and found[-1][1] is None
    assert [high for _, high in found[:-1]] == [low for low, _ in found[1:]]
    sizes = [(pages if high is None else high) - low for low, high in found]
    assert max(sizes) <= most and max(sizes) - min(sizes) <= 1
