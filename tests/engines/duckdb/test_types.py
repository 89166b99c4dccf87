"""As what DuckDB holds a source's types, and that the source's texts are read as the values that they are."""

from __future__ import annotations

import duckdb
import pytest

from airflow_ddlrepl.engines.duckdb.types.physical import physical
from airflow_ddlrepl.engines.duckdb.types.type_system import DUCK_TYPES
from airflow_ddlrepl.engines.duckdb_sql.quoting import literal
from airflow_ddlrepl.engines.duckdb_sql.text_sql import from_text, is_literal
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeKind
from airflow_ddlrepl.ports.types import Cast, Equality

VALUES = [
    ("boolean", "t", "true"),
    ("smallint", "-32768", "-32768"),
    ("bigint", "9223372036854775807", "9223372036854775807"),
    ("real", "1.1", "1.1"),
    ("real", "-Infinity", "-inf"),
    ("double precision", "NaN", "nan"),
    ("numeric(10,2)", "-12345678.90", "-12345678.90"),
    ("numeric(38,0)", "9" * 38, "9" * 38),
    ("numeric(39,2)", "1" + "0" * 36 + ".00", "1" + "0" * 36 + ".00"),
    ("numeric", "1.00000000000000000000000000000000000000000001", "1.00000000000000000000000000000000000000000001"),
    ("numeric", "NaN", "NaN"),
    ("text", "it's", "it's"),
    ("character varying(5)", "abc", "abc"),
    ("bytea", "\\x00ff41", "\\x00\\xFFA"),
    ("uuid", "7f9c24e8-3b12-4fef-91e0-56a2d5a0b3d1", "7f9c24e8-3b12-4fef-91e0-56a2d5a0b3d1"),
    ("date", "2020-02-29", "2020-02-29"),
    ("date", "0044-03-15 BC", "0044-03-15 (BC)"),
    ("date", "infinity", "infinity"),
    ("date", "5874897-12-31", "5874897-12-31"),
    ("time without time zone", "24:00:00", "24:00:00"),
    ("timestamp without time zone", "2020-02-29 23:59:59.123456", "2020-02-29 23:59:59.123456"),
    ("timestamp without time zone", "0044-03-15 10:00:00.5 BC", "0044-03-15 (BC) 10:00:00.5"),
    ("timestamp with time zone", "2020-01-01 00:00:00+05:30", "2019-12-31 18:30:00+00"),
    ("timestamp with time zone", "-infinity", "-infinity"),
    ("jsonb", '{"a": [1, null]}', '{"a": [1, null]}'),
    ("interval", "1 year -3 days +04:05:06", "1 year -3 days +04:05:06"),
    ("integer[]", "{1,NULL}", "{1,NULL}"),
]


def of(text: str, kind: TypeKind = TypeKind.BASE, schema: str = "pg_catalog") -> DataType:
    return DataType(text, schema, text.partition("(")[0], kind)


@pytest.mark.parametrize(("type_", "text", "shown"), VALUES)
def test_a_text_of_the_source_is_read_as_its_value(type_: str, text: str, shown: str) -> None:
    held = physical(of(type_))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE TABLE t (v {held})")
        ((there,),) = connection.execute("SELECT data_type FROM duckdb_columns() WHERE table_name = 't'").fetchall()
        assert there == held, "the name that DuckDB gives the type"
        for cast in ("CAST", "TRY_CAST"):
            query = f"INSERT INTO t SELECT {from_text('s.x', held, cast)} FROM (VALUES ({literal(text)})) AS s(x)"
            connection.execute(query)
        if is_literal(text, held):
            connection.execute(f"INSERT INTO t SELECT CAST({literal(text)} AS {held})")
        assert set(connection.execute("SELECT CAST(v AS VARCHAR) FROM t").fetchall()) == {(shown,)}


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("numeric(10,2)", "NaN"),
        ("timestamp without time zone", "294276-12-31 00:00:00"),
        ("integer", "2147483648"),
        ("uuid", "x"),
    ],
)
def test_a_value_that_a_type_can_not_hold_is_refused_and_never_another_one(type_: str, text: str) -> None:
    held = physical(of(type_))
    with duckdb.connect() as connection:
        with pytest.raises(duckdb.Error):
            connection.execute(f"SELECT {from_text(literal(text), held)}")
        assert connection.execute(f"SELECT {from_text(literal(text), held, 'TRY_CAST')}").fetchall() == [(None,)]


def test_a_domain_is_held_as_what_is_below_it() -> None:
    money = TypeDefinition(1, "shop", "money", TypeKind.DOMAIN, base="numeric(12,2)")
    price = TypeDefinition(2, "shop", "price", TypeKind.DOMAIN, base="shop.money")
    status = TypeDefinition(3, "shop", "status", TypeKind.ENUM, labels=("a", "b"))
    assert physical(DataType("shop.price", "shop", "price", TypeKind.DOMAIN), (money, price)) == "DECIMAL(12,2)"
    assert physical(DataType("shop.status", "shop", "status", TypeKind.ENUM), (status,)) == "VARCHAR"
    assert physical(DataType("shop.price", "shop", "price", TypeKind.DOMAIN)) == "VARCHAR"


@pytest.mark.parametrize(
    ("old", "new", "is_sure"),
    [
        ("integer", "bigint", True),
        ("bigint", "integer", False),
        ("integer", "numeric(10,0)", True),
        ("integer", "numeric(9,0)", False),
        ("numeric(10,2)", "numeric(12,2)", True),
        ("numeric(10,2)", "numeric(12,4)", True),
        ("numeric(10,2)", "numeric(10,4)", False),
        ("numeric(40,2)", "numeric(42,4)", False),
        ("bigint", "text", True),
        ("uuid", "text", True),
        ("boolean", "text", False),
        ("real", "double precision", False),
        ("character varying(5)", "character varying(9)", True),
        ("character varying(9)", "character varying(5)", False),
        ("character varying(9)", "text", True),
        ("date", "text", False),
    ],
)
def test_a_type_is_altered_only_where_all_values_stay_the_same(old: str, new: str, is_sure: bool) -> None:
    found = DUCK_TYPES.cast(of(old), of(new))
    assert found is (Cast.SAME_EVERYWHERE if is_sure else Cast.UNKNOWN)


def test_keys_compare_as_duckdb_holds_them() -> None:
    def equality(text: str, encoding: str = "text") -> Equality:
        return DUCK_TYPES.equality(Column(1, "c", of(text)), encoding)

    assert equality("double precision") is Equality.FLOAT
    assert equality("integer") is Equality.BYTES
    assert equality("numeric(10,2)") is Equality.NUMERIC_TEXT
    assert equality("numeric(10,2)", "binary") is Equality.NUMERIC
    assert {equality(one) for one in ("numeric", "numeric(40,2)", "character(4)")} == {Equality.BYTES}
