"""Compare finds every planted difference, names it, and finds none where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.compare.report import Comparison, Kind, TableReport
from airflow_ddlrepl.engines.comparing import CompareTask, columns_compared, compare_tables
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.connection import connect as connecting
from airflow_ddlrepl.engines.postgres.connection.connect import connect, parameters
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote
from airflow_ddlrepl.engines.postgres.load.table_rows import rows_of
from airflow_ddlrepl.engines.source_catalog import RowSelection
from airflow_ddlrepl.model.table import Table
from tests.support.replica import Replica, channel_file

TABLE = """
create table goods (
    id int primary key, name text, price numeric, stamp timestamptz, doc jsonb, raw bytea, x float8, tags text[],
    pos point, twice int generated always as (id * 2) stored);
insert into goods
select i, 'good ' || i, i / 7.0, timestamptz '2026-01-01' + i * interval '1 hour', jsonb_build_object('i', i),
       decode(md5(i::text), 'hex'), i / 3.0, array['a', null, i::text], point(i, -i)
from generate_series(1, 5000) i
"""


def both(databases: Any, *statements: str) -> None:
    for dsn in (databases.source, databases.target):
        with connect(dsn) as connection:
            for statement in statements:
                connection.execute(statement.encode())


def at_target(databases: Any, *statements: str) -> None:
    with connect(databases.target) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def compared(databases: Any, name: str = "goods", **options: Any) -> TableReport:
    with connect(databases.source) as connection:
        table = next(t for t in inspect(connection) if t.name.name == name)
    shape = options.pop("shape", table)
    return compare_tables([task(databases.source, databases.target, table, shape, **options)])[0]


def task(source: str, target: str, table: Table, shape: Table, **options: Any) -> CompareTask:
    rows = rows_of(source, RowSelection(table, columns_compared(table, shape)))
    return CompareTask(rows, target, table, table.name, shape, **options)


def found(report: TableReport) -> list[tuple[Kind, str, tuple[str, ...]]]:
    return [(row.kind, row.key, row.columns) for row in report.rows]


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
def test_equal_tables(databases: Any) -> None:
    both(databases, TABLE)
    report = compared(databases)
    assert (report.differences, report.source_rows, report.target_rows, report.columns) == (0, 5000, 5000, 10)
    assert "0 differences" in Comparison((report,)).text()


def test_a_difference_of_each_kind(databases: Any) -> None:
    both(databases, TABLE)
    at_target(
        databases,
        "delete from goods where id = 17",
        "insert into goods (id) values (9999)",
        "update goods set price = 1.00, raw = null where id = 4000",
        "update goods set name = '' where id = 3",
    )
    at_target(databases, "update goods set name = null where id = 3")
    report = compared(databases)
    assert (report.missing, report.extra, report.different) == (1, 1, 2)
    assert found(report) == [
        (Kind.MISSING, "(17)", ()),
        (Kind.DIFFERENT, "(3)", ("name",)),
        (Kind.DIFFERENT, "(4000)", ("price", "raw")),
        (Kind.EXTRA, "(9999)", ()),
    ]
    text = Comparison((report,)).text()
    assert "missing row (17)" in text and "different row (4000) in price, raw" in text and "4 differences" in text
    assert Comparison((report,)).to_json()["differences"] == 4


@pytest.mark.parametrize(
    ("type_", "one", "other"),
    [
        ("numeric", "1.0", "1.00"),
        ("float8", "0", "-0"),
        ("float8", "1", "1.0000000000000002"),
        ("json", '{"a":1}', '{"a": 1}'),
        ("text", "", "NULL"),
        ("text", "\\", "\\\\"),
        ("text", "a", "a "),
        ("timestamptz", "infinity", "-infinity"),
        ("interval", "1 month", "30 days"),
        ("text[]", "{a}", "[0:0]={a}"),
        ("bpchar", "a", "a "),
        ("tsvector", "a:1", "a:2"),
        ("bit varying", "1", "10"),
    ],
)
def test_values_that_only_look_equal_differ(databases: Any, type_: str, one: str, other: str) -> None:
    both(databases, f"create table v (id int primary key, value {type_})")
    for dsn, value in ((databases.source, one), (databases.target, other)):
        with connect(dsn) as connection:
            connection.execute(f"insert into v values (1, {'null' if value == 'NULL' else literal(value)})".encode())
    assert found(compared(databases, "v")) == [(Kind.DIFFERENT, "(1)", ("value",))]


def test_tables_without_a_key_count_copies(databases: Any) -> None:
    both(
        databases, "create table log (a int, b text)", "insert into log values (1, 'x'), (1, 'x'), (2, null), (2, null)"
    )
    assert compared(databases, "log").differences == 0
    at_target(databases, "insert into log values (1, 'x'), (1, 'x')", "delete from log where a = 2")
    at_target(databases, "insert into log values (2, '')")
    report = compared(databases, "log")
    assert (report.missing, report.extra, report.different) == (2, 3, 0)
    assert [(r.kind, r.key, r.copies) for r in report.rows] == [
        (Kind.EXTRA, "(1,x)", 2),
        (Kind.EXTRA, '(2,"")', 1),
        (Kind.MISSING, "(2,)", 2),
    ]


def test_the_shape_is_compared(databases: Any) -> None:
    both(databases, "create table t (id int primary key, a int, b varchar(9), c text not null)")
    at_target(
        databases,
        "alter table t drop column a, add column own int, alter b type text, alter c drop not null",
        "alter table t drop constraint t_pkey",
    )
    assert compared(databases, "t").structure == (
        "column a is missing at the target",
        "column b has type text, should be character varying(9)",
        "column c allows NULL and should not",
        "column own is only at the target",
        "key is (none), should be (id)",
    )


def test_a_missing_table(databases: Any) -> None:
    both(databases, "create table t (id int primary key)", "insert into t values (1), (2)")
    at_target(databases, "drop table t")
    report = compared(databases, "t")
    assert (report.differences, report.missing, report.structure) == (3, 2, ("the table is missing at the target",))


def test_awkward_names_and_values(databases: Any) -> None:
    name, column, value = 'a"b; %s .-- é', '%(x)s "c"', "line\n\\ 'q' \" {%s} ü,)"
    both(
        databases,
        f"create table {quote(name)} ({quote(column)} text primary key, {quote('?')} text)",
        f"insert into {quote(name)} select 'k' || i, i from generate_series(1, 3) i",
    )
    with connect(databases.source) as connection:
        connection.execute(f"insert into {quote(name)} values ($v${value}$v$, 'x')".encode())
    assert compared(databases, name).missing == 1
    at_target(databases, f"insert into {quote(name)} values ($v${value}$v$, 'y')")
    assert [(r.kind, r.columns) for r in compared(databases, name).rows] == [(Kind.DIFFERENT, ("?",))]


def test_a_wholly_different_table_is_not_listed_to_the_end(databases: Any) -> None:
    both(
        databases,
        "create table t (id int primary key, v int)",
        "insert into t select i, i from generate_series(1, 3000) i",
    )
    at_target(databases, "update t set v = v + 1")
    report = compared(databases, "t", limit=5)
    assert report.different == 3000 and len(report.rows) == 5
    assert list(report.lines())[-1] == "public.t: 2995 rows more"


def test_types_that_the_target_holds_otherwise(databases: Any) -> None:
    """An int held as bigint, an enum held as text: compared as the target shows them."""
    with connect(databases.source) as connection:
        connection.execute(
            b"create type mood as enum ('ok', 'bad'); create table t (id int primary key, n int, m mood)"
        )
        connection.execute(b"insert into t values (1, 5, 'ok'), (2, null, null)")
    at_target(
        databases,
        "create table t (id int primary key, n bigint, m text)",
        "insert into t values (1, 5, 'ok'), (2, null, null)",
    )
    with connect(databases.target) as connection:
        shape = inspect(connection)[0]
    assert compared(databases, "t", shape=shape).differences == 0


def test_a_table_of_the_target_that_is_locked(databases: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "LOCK_TIMEOUT", "200ms")
    both(databases, "create table t (id int primary key)")
    with connect(databases.source) as connection:
        table = inspect(connection)[0]
    with psycopg.connect(databases.target) as holder:
        holder.execute("lock table t")
        (report,) = compare_tables([task(databases.source, databases.target, table, table)])
    (why,) = report.structure
    assert report.waits and "TGT-180: the target's table can't be read: " in why and "lock timeout" in why
    assert "run again" in why


def test_a_table_that_may_not_be_read(databases: Any) -> None:
    both(databases, "create table t (id int primary key)")
    databases.server.create_role(role := f"r_{databases.source[-8:]}")
    with connect(databases.source) as connection:
        table = inspect(connection)[0]
    there = databases.server.dsn(parameters(databases.source)["dbname"], role)
    try:
        (report,) = compare_tables([task(there, databases.target, table, table)])
    finally:
        with connect(databases.source) as connection:
            connection.execute(f"drop role {quote(role)}".encode())
    (why,) = report.structure
    assert "SRC-180" in why and "GRANT SELECT" in why and databases.server.password not in why


def test_a_type_left_behind(databases: Any) -> None:
    """The target stands as its records say, but the source has moved on; a wider type is fine."""
    both(databases, "create table t (id int primary key, n int)")
    with connect(databases.target) as connection:
        shape = inspect(connection)[0]
    with connect(databases.source) as connection:
        connection.execute(b"alter table t alter n type bigint")
    assert compared(databases, "t", shape=shape).structure == ("column n has type integer, at the source bigint",)
    with connect(databases.source) as connection:
        connection.execute(b"alter table t alter n type smallint")
    assert compared(databases, "t", shape=shape).differences == 0


@pytest.fixture
def latin(databases: Any) -> Iterator[str]:
    """A database of its own with another encoding than the target's."""
    name = f"latin_{databases.target[-8:]}"
    with connect(databases.target) as admin:
        admin.execute(f"create database {name} template template0 encoding 'LATIN1' locale 'C'".encode())
    yield databases.server.dsn(name)
    databases.server.drop_database(name)


def test_databases_with_different_encodings(databases: Any, latin: str, tmp_path: Path) -> None:
    replica = Replica(latin, databases.target, channel_file(tmp_path, latin, databases.target))
    replica.at_source(
        "create type hue as enum ('grün')",
        "create table t (id text primary key, h hue, doc jsonb)",
        "create table keyless (v text)",
        """insert into t values ('ä', 'grün', '{"ö": "ü"}')""",
        "insert into keyless values ('é')",
    )
    replica.activate()
    replica.check_equal()
    replica.at_source("update t set id = 'å'", "insert into t values ('ß')", "update keyless set v = 'è'")
    replica.settle()
    replica.at_target("update t set h = null where id = 'å'")
    assert replica.compare().lines() == ["public.t: different row (å) in h"]


def test_a_target_with_another_encoding(databases: Any, latin: str, tmp_path: Path) -> None:
    """Rows of the log that are staged by COPY, too, and such as are few."""
    replica = Replica(databases.source, latin, channel_file(tmp_path, databases.source, latin))
    replica.at_source("create table t (id int primary key, note text)", "insert into t values (0, 'é')")
    replica.activate()
    for rows in ("1, 9", "10, 9999"):
        replica.at_source(f"insert into t select i, 'ß' || i from generate_series({rows}) i")
        replica.settle()
    assert replica.rows("select count(*) from t where note = 'ß' || id") == [(9999,)]


@pytest.mark.parametrize("alone", [1 << 20, 0], ids=["small", "each alone"])
def test_many_tables_are_compared_a_few_at_a_time(
    databases: Any, tmp_path: Path, alone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each report is of its own table, in the order of their names; one that is missing keeps none from being read."""
    monkeypatch.setattr("airflow_ddlrepl.flow.comparing.compare.AT_ONCE", 3)
    monkeypatch.setattr("airflow_ddlrepl.engines.chunks.LARGE_CHUNK_BYTES", alone)
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    for number in range(8):
        replica.at_source(f"CREATE TABLE t{number} AS SELECT generate_series(1, {number}) AS id")
    replica.activate()
    replica.at_target("DELETE FROM t2 WHERE id = 1", "INSERT INTO t5 VALUES (9), (9)", "DROP TABLE t6")
    report = replica.compare()
    assert [table.table.name for table in report.tables] == [f"t{number}" for number in range(8)]
    assert [table.source_rows for table in report.tables] == list(range(8))
    assert [(t.table.name, t.missing, t.extra) for t in report.tables if t.differences] == [
        ("t2", 1, 0),
        ("t5", 0, 2),
        ("t6", 6, 0),
    ]
