"""An expression of PostgreSQL's in DuckDB's SQL: each one is executed at both, and gives the same values there."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.model.types import DataType, Family, TypeFamily
from airflow_ddlrepl.sql.expressions.translation import for_duckdb
from airflow_ddlrepl.sql.translation import Untranslatable

duckdb = pytest.importorskip("duckdb")

COLUMNS = {
    "s": "smallint", "i": "integer", "b": "bigint", "n": "numeric(9,2)", "m": "numeric(4,3)", "f": "double precision",
    "t": "text", "v": "character varying(20)", "d": "date", "ts": "timestamp without time zone", "u": "uuid",
    "ok": "boolean",
}  # fmt: skip
OTHERS = {"big": "numeric", "c": "character(3)", "j": "jsonb"}
THERE = {
    "s": "SMALLINT", "i": "INTEGER", "b": "BIGINT", "n": "DECIMAL(9,2)", "m": "DECIMAL(4,3)", "f": "DOUBLE",
    "t": "VARCHAR", "v": "VARCHAR", "d": "DATE", "ts": "TIMESTAMP", "u": "UUID", "ok": "BOOLEAN",
}  # fmt: skip
ROWS = [
    ("1", "2", "3", "1.50", "0.125", "0.1", "a", "b", "2020-02-29", "2020-02-29 01:02:03", "0" * 32, "t"),
    ("-7", "-8", "9000000000", "-9999999.99", "-9.999", "-2.5", "ü '", "", "1999-12-31", "1999-12-31 23:59:59.999999",
     "f" * 32, "f"),
    (None,) * 12,
]  # fmt: skip


def family(text: str) -> TypeFamily:
    return POSTGRES_TYPES.family(DataType(text, "pg_catalog", text))


@pytest.mark.parametrize(
    ("text", "of", "there"),
    [
        ("0", "integer", "INTEGER"),
        ("'-1'::integer", "integer", "INTEGER"),
        ("(-5)", "bigint", "BIGINT"),
        ("1.5", "numeric(9,2)", "DECIMAL(9,2)"),
        ("1.005", "numeric(9,3)", "DECIMAL(9,3)"),
        ("'-0.25'::numeric", "numeric(9,2)", "DECIMAL(9,2)"),
        ("'1.5'::double precision", "double precision", "DOUBLE"),
        ("'NaN'::double precision", "double precision", "DOUBLE"),
        ("true", "boolean", "BOOLEAN"),
        ("NULL::character varying", "text", "VARCHAR"),
        ("'it''s \\ \"'::text", "text", "VARCHAR"),
        ("'x'::character varying", "character varying(9)", "VARCHAR"),
        ("'N'::bpchar", "character(1)", "VARCHAR"),
        ("'2020-02-29'::date", "date", "DATE"),
        ("'infinity'::date", "date", "DATE"),
        ("'2020-01-01 02:03:04.5'::timestamp without time zone", "timestamp without time zone", "TIMESTAMP"),
        ("'12:34:56'::time without time zone", "time without time zone", "TIME"),
        ("'1 day 02:03:04'::interval", "interval", "INTERVAL"),
        ("'{\"a\": [1, null]}'::jsonb", "jsonb", "JSON"),
        ("'{}'::text[]", "text[]", "VARCHAR[]"),
        ("ARRAY[]::integer[]", "integer[]", "INTEGER[]"),
        ("ARRAY['a'::text, 'b'::text]", "text[]", "VARCHAR[]"),
        (r"'\x00ff'::bytea", "bytea", "BLOB"),
        ("'00000000-0000-0000-0000-0000000000ff'::uuid", "uuid", "UUID"),
    ],
)
def test_a_constant_default(databases: Any, text: str, of: str, there: str) -> None:
    sql = for_duckdb(text, family(of))
    with connect(databases.source) as connection:
        connection.execute(f"CREATE TEMP TABLE c (k int, v {of} DEFAULT {text})".encode())
        connection.execute("INSERT INTO c (k) VALUES (1)")
        wanted = connection.execute("SELECT v FROM c").fetchall() if "infinity" not in text else []
        as_text = connection.execute("SELECT v::text FROM c").fetchall()
    with duckdb.connect() as local:
        local.execute(f"CREATE TABLE c (k int, v {there} DEFAULT ({sql}))")
        local.execute("INSERT INTO c (k) VALUES (1)")
        found = local.execute("SELECT v FROM c").fetchall()
        texts = local.execute("SELECT v::varchar FROM c").fetchall()
    if there in ("JSON", "DATE", "DOUBLE"):
        assert texts[0][0].lower() == as_text[0][0].lower()
    else:
        assert found == [tuple(map(plain, row)) for row in wanted]


def plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


def test_an_enum_s_label_is_a_text_there() -> None:
    assert for_duckdb("'so so'::shop.\"Mood\"", TypeFamily(Family.ENUM)) == "CAST('so so' AS TEXT)"


@pytest.mark.parametrize(
    ("text", "of", "kind"),
    [
        ("now()", "timestamp with time zone", "TIMESTAMP WITH TIME ZONE"),
        ("CURRENT_TIMESTAMP", "timestamp with time zone", "TIMESTAMP WITH TIME ZONE"),
        ("gen_random_uuid()", "uuid", "UUID"),
        ("random()", "double precision", "DOUBLE"),
    ],
)
def test_a_value_of_the_moment(text: str, of: str, kind: str) -> None:
    with duckdb.connect() as local:
        ((found, is_null),) = local.execute(
            f"SELECT typeof(x), x IS NULL FROM (SELECT {for_duckdb(text, family(of))} x)"
        ).fetchall()
    assert (found, is_null) == (kind, False)


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("(s + i)", "integer"),
        ("((b - 1) * 2)", "bigint"),
        ("(n * (i)::numeric)", "numeric(30,4)"),
        ("((n + m) - 1.25)", "numeric(30,4)"),
        ("(f * '2'::double precision)", "double precision"),
        ("abs(i)", "integer"),
        ("(- n)", "numeric(9,2)"),
        ("((t || '-'::text) || (v)::text)", "text"),
        ("((i)::text || (ok)::text)", "text"),
        ("(u)::text", "text"),
        ("length(t)", "integer"),
        ("COALESCE(t, (v)::text, 'none'::text)", "text"),
        ("COALESCE(i, 0)", "integer"),
        ("COALESCE(n, 0)", "numeric(9,2)"),
        ("NULLIF(i, 2)", "integer"),
        ("(i > 1)", "boolean"),
        ("((n)::numeric(12,3) >= 1.5)", "boolean"),
        ("((t = 'a'::text) OR (NOT ok))", "boolean"),
        ("(t IS NOT NULL)", "boolean"),
        ("(ok IS TRUE)", "boolean"),
        ("(d < '2020-01-01'::date)", "boolean"),
        ("CASE WHEN (i > 1) THEN 'big'::text WHEN ok THEN t ELSE NULL::text END", "text"),
        ("((ts <= '2020-01-01 00:00:00'::timestamp without time zone)"
         " AND (u <> '00000000-0000-0000-0000-000000000000'::uuid))", "boolean"),
    ],
)  # fmt: skip
def test_an_expression_over_columns(databases: Any, text: str, of: str) -> None:
    sql = for_duckdb(text, family(of), {name: family(one) for name, one in COLUMNS.items()})
    with connect(databases.source) as connection:
        columns = ", ".join(f"{name} {one}" for name, one in COLUMNS.items())
        connection.execute(f"CREATE TEMP TABLE x (k serial, {columns})".encode())
        marks = ", ".join(["%s"] * len(COLUMNS))
        for row in ROWS:
            connection.execute(f"INSERT INTO x ({', '.join(COLUMNS)}) VALUES ({marks})".encode(), row)
        wanted = connection.execute(f"SELECT {text} FROM x ORDER BY k".encode()).fetchall()
    with duckdb.connect() as local:
        columns = ", ".join(f"{name} {one}" for name, one in THERE.items())
        local.execute(f"CREATE TABLE x (k int, {columns})")
        for number, row in enumerate(ROWS):
            values = [None if one is None else as_uuid(one) if len(one) == 32 else one for one in row]
            local.execute(f"INSERT INTO x VALUES (?, {', '.join('?' * len(COLUMNS))})", [number, *values])
        found = local.execute(f"SELECT {sql} FROM x ORDER BY k").fetchall()
    assert found == wanted


def as_uuid(text: str) -> str:
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("(i / 2)", "integer"),
        ("(i % 2)", "integer"),
        ("nextval('s'::regclass)", "bigint"),
        ("now()", "timestamp without time zone"),
        ("now()", "date"),
        ("CURRENT_TIMESTAMP(3)", "timestamp with time zone"),
        ("CURRENT_USER", "text"),
        ("upper(t)", "text"),
        ("(t < 'b'::text)", "boolean"),
        ("NULLIF(j, '1'::jsonb)", "jsonb"),
        ("'abc'::character varying(2)", "text"),
        ("'today'::date", "date"),
        ("'0044-03-15 BC'::date", "date"),
        ("'{a,b}'::text[]", "text[]"),
        ("'N'::bpchar", "character(3)"),
        ("'(1,2)'::point", "point"),
        ("(f)::text", "text"),
        ("(n)::integer", "integer"),
        ("(i)::smallint", "smallint"),
        ("(n * n) * (n * n) * n", "numeric(38,10)"),
        ("big + 1", "numeric"),
        ("c || 'x'::text", "text"),
        ("shop.next()", "integer"),
        ("missing", "integer"),
        ("1; DROP TABLE t", "integer"),
        ("(", "integer"),
        ("1.5", "integer"),
        ("'[1'::jsonb", "jsonb"),
        ("'NaN'::jsonb", "jsonb"),
        ("1e3", "numeric(9,2)"),
        ("( SELECT 1)", "integer"),
    ],
)
def test_what_may_mean_something_else_is_refused(text: str, of: str) -> None:
    columns = {name: family(one) for name, one in {**COLUMNS, **OTHERS}.items()}
    with pytest.raises(Untranslatable):
        for_duckdb(text, family(of), columns)
