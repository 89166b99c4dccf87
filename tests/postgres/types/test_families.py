"""The families of PostgreSQL's types, as its catalog spells them."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl.config.sections.policies import DdlCapture
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.source import helper_schema
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.model.types import OTHER, DataType, Family, TypeFamily
from tests.support.replica import run

DECIMAL = TypeFamily(Family.DECIMAL, precision=12, scale=2)
INT = TypeFamily(Family.INT, bits=32)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("boolean", "boolean"),
        ("smallint", "int(16)"),
        ("bigint", "int(64)"),
        ("numeric", "decimal"),
        ("numeric(12,2)", "decimal(12, 2)"),
        ("numeric(3,-2)", "decimal(3, -2)"),
        ("double precision", "float(64)"),
        ("character varying(20)", "text(20)"),
        ("character(3)", "text(3)"),
        ("timestamp(3) with time zone", "timestamp with zone(3)"),
        ("time without time zone", "time"),
        ("interval day to second(2)", "interval(2)"),
        ("jsonb", "json"),
        ("numeric(12,2)[]", "array of decimal(12, 2)"),
        ("tstzrange", "range of timestamp with zone"),
        ("inet", "other"),
        ("public.citext", "other"),
        ("public.geometry(Point,4326)", "other"),
        ("public.geometry(Point,4326)[]", "other"),
        ("box[]", "other"),
        ("inet[]", "array of other"),
    ],
)
def test_a_type_by_its_text(text: str, shown: str) -> None:
    schema, _, name = text.rpartition(".")
    assert str(POSTGRES_TYPES.family(DataType(text, schema or "pg_catalog", name))) == shown


def test_types_of_users_by_their_definitions(databases: Any) -> None:
    run(
        databases.source,
        """
        CREATE SCHEMA "My";
        CREATE TYPE "My"."Mood" AS ENUM ('so so', 'glad');
        CREATE DOMAIN "My".price AS numeric(12,2) CHECK (VALUE > 0);
        CREATE DOMAIN "My".dear AS "My".price;
        CREATE TYPE "My".item AS (name varchar(9), cost "My".price, moods "My"."Mood"[]);
        CREATE TYPE "My".span AS RANGE (subtype = int4);
        CREATE DOMAIN "My".many AS int[];
        CREATE DOMAIN "My".place AS box;
        CREATE TYPE "My".nothing AS ();
        CREATE TABLE t (id int PRIMARY KEY, m "My"."Mood", d "My".dear, i "My".item, ms "My"."Mood"[],
          s "My".span, ss "My".span_multirange, many "My".many, l char(3),
          manies "My".many[], places "My".place[], n "My".nothing);
        """,
    )
    with connect(databases.source) as connection:
        helper_schema.install(connection, DdlCapture.RELATIONS)
        (table,) = inspect(connection)
    found = {c.name: POSTGRES_TYPES.family(c.type, table.types) for c in table.columns}
    mood = TypeFamily(Family.ENUM, labels=("so so", "glad"))
    moods = TypeFamily(Family.ARRAY, element=mood)
    assert found == {
        "id": INT,
        "m": mood,
        "d": DECIMAL,
        "i": TypeFamily(
            Family.STRUCT,
            fields=(("name", TypeFamily(Family.TEXT, length=9)), ("cost", DECIMAL), ("moods", moods)),
        ),
        "ms": moods,
        "s": TypeFamily(Family.RANGE, element=INT),
        "ss": OTHER,
        "many": TypeFamily(Family.ARRAY, element=INT),
        "l": TypeFamily(Family.TEXT, length=3, is_padded=True),
        "manies": OTHER,
        "places": OTHER,
        "n": OTHER,
    }


@pytest.mark.parametrize(
    "text",
    [
        "boolean",
        "integer",
        "numeric(5,2)",
        "real",
        "character(3)",
        "character varying(9)",
        "date",
        "uuid[]",
        "interval",
    ],
)
def test_a_family_of_postgresql_s_has_its_own_type_there(text: str) -> None:
    found = POSTGRES_TYPES.representation(POSTGRES_TYPES.family(DataType(text, "pg_catalog", "")))
    assert (found.type.text, found.loss) == (text, "")


def test_what_only_other_engines_have_becomes_a_wider_type_or_a_text() -> None:
    assert POSTGRES_TYPES.representation(TypeFamily(Family.INT, bits=8)).type.text == "smallint"
    assert POSTGRES_TYPES.representation(TypeFamily(Family.STRUCT)).type.text == "text"
    assert POSTGRES_TYPES.representation(TypeFamily(Family.STRUCT)).loss == "it is a text"


def test_a_size_that_postgresql_does_not_have_is_left_out() -> None:
    sizes = {
        "numeric": [(1001, 0), (3, 5), (3, -2)],
        "numeric(1000,0)": [(1000, 0)],
    }
    for text, pairs in sizes.items():
        for precision, scale in pairs:
            family = TypeFamily(Family.DECIMAL, precision=precision, scale=scale)
            assert POSTGRES_TYPES.representation(family).type.text == text
    for length in (0, 4_294_967_295):
        assert POSTGRES_TYPES.representation(TypeFamily(Family.TEXT, length=length)).type.text == "text"
