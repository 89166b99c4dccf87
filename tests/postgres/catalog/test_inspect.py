"""Inspection: shapes, keys, types and values as the catalog states them, on every version alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import Connection

from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Identity, Key, Table
from airflow_ddlrepl.model.types import DataType, TypeKind
from tests.conftest import Databases

pytestmark = pytest.mark.parametrize("databases", [18, 15], indirect=True)


@pytest.fixture
def user(databases: Databases) -> Iterator[Connection[Any]]:
    with connect(databases.source) as connection:
        yield connection


def _one(user: Connection[Any], *statements: str) -> Table:
    for statement in statements:
        user.execute(statement.encode())
    (table,) = inspect(user, patterns=("*.t",))
    assert Table.from_json(json.loads(json.dumps(table.to_json()))) == table
    return table


def test_types(user: Connection[Any]) -> None:
    table = _one(
        user,
        'CREATE SCHEMA "S x"; CREATE TYPE "S x"."E\'n" AS ENUM (\'b\', \'a\')',
        'CREATE DOMAIN "S x".d AS "S x"."E\'n"[] NOT NULL DEFAULT \'{a}\' CHECK (cardinality(VALUE) > 0)',
        'CREATE TYPE c AS (x "S x".d, y numeric(5,2)); CREATE TYPE r AS RANGE (subtype = text, collation = "C")',
        'CREATE TABLE t (a numeric(10,2), b varchar(7)[], c "char", d bit(3), e "S x"."E\'n", f c[], g r,'
        ' h r_multirange, i int4range, j timestamptz(3), k "S x".d, l interval day to second(2), m int2vector)',
    )
    texts = [column.type.text for column in table.columns]
    assert texts == [
        "numeric(10,2)", "character varying(7)[]", '"char"', "bit(3)", '"S x"."E\'n"', "public.c[]", "public.r",
        "public.r_multirange", "int4range", "timestamp(3) with time zone", '"S x".d', "interval day to second(2)",
        "int2vector",
    ]  # fmt: skip
    kinds = {column.name: column.type.kind for column in table.columns}
    assert (kinds["b"], kinds["e"], kinds["f"], kinds["g"], kinds["h"], kinds["k"], kinds["m"]) == (
        TypeKind.ARRAY, TypeKind.ENUM, TypeKind.ARRAY, TypeKind.RANGE, TypeKind.MULTIRANGE, TypeKind.DOMAIN,
        TypeKind.BASE,
    )  # fmt: skip
    assert table.named("b").type == DataType(
        "character varying(7)[]", "pg_catalog", "varchar", TypeKind.ARRAY, id=1015, modifier=11
    )
    enum, domain, composite, range_, multirange = table.types
    assert (multirange.kind, multirange.name, multirange.base) == (TypeKind.MULTIRANGE, "r_multirange", "public.r")
    assert (enum.name, enum.labels) == ("E'n", ("b", "a"))
    assert (domain.base, domain.not_null, domain.default) == ('"S x"."E\'n"[]', True, '\'{a}\'::"S x"."E\'n"[]')
    assert domain.constraints == (("d_check", "CHECK ((cardinality(VALUE) > 0))"),)
    assert [(a.name, a.type) for a in composite.attributes] == [("x", '"S x".d'), ("y", "numeric(5,2)")]
    assert (range_.base, range_.collation) == ("text", 'pg_catalog."C"')


def test_missing_values_and_defaults_do_not_depend_on_the_session(user: Connection[Any]) -> None:
    user.execute("SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German'; SET IntervalStyle = 'iso_8601'")
    user.execute("SET extra_float_digits = -5; SET bytea_output = 'escape'")
    table = _one(
        user,
        "CREATE TABLE t (i int)",
        "INSERT INTO t VALUES (1)",
        "ALTER TABLE t ADD a int[] DEFAULT '{1,2}', ADD b box DEFAULT '(1,1),(0,0)', ADD c text DEFAULT 'a\"b,{}\\',"
        " ADD d timestamptz DEFAULT '2021-01-01 00:00+00', ADD e float8 DEFAULT 0.1, ADD f bytea DEFAULT '\\x00ff',"
        " ADD g interval DEFAULT '1 day 2 hours', ADD h text, ADD j text DEFAULT '', ADD k float DEFAULT random()",
        "ALTER TABLE t ADD l date DEFAULT '2020-02-03', ALTER a SET DEFAULT '{7}'",
    )
    # The volatile default of k rewrote the table: only what came later is missing from rows.
    assert {c.name: c.missing for c in table.columns if c.missing is not None} == {"l": "2020-02-03"}
    user.execute("CREATE TABLE u (i int); ALTER TABLE u ADD d timestamptz DEFAULT '2021-01-01 00:00+00'")
    user.execute(
        "ALTER TABLE u ADD a int[] DEFAULT '{1,2}', ADD b box DEFAULT '(1,1),(0,0)', ADD c text DEFAULT 'a\"b,{}\\'"
    )
    user.execute(
        "ALTER TABLE u ADD e float8 DEFAULT 0.1, ADD f bytea DEFAULT '\\x00ff', ADD g interval DEFAULT '26 hours'"
    )
    user.execute("ALTER TABLE u ADD h text, ADD j text DEFAULT '', ADD n text DEFAULT NULL, ALTER a SET DEFAULT '{7}'")
    (other,) = inspect(user, patterns=("public.u",))
    assert {c.name: c.missing for c in other.columns if c.missing is not None} == {
        "d": "2021-01-01 00:00:00+00", "a": "{1,2}", "b": "(1,1),(0,0)", "c": 'a"b,{}\\', "e": "0.1",
        "f": "\\x00ff", "g": "26:00:00", "j": "",
    }  # fmt: skip
    assert other.named("d").default == "'2021-01-01 00:00:00+00'::timestamp with time zone"
    assert user.execute("SHOW DateStyle").fetchone() == ("German, DMY",)


def test_columns_keep_their_number(user: Connection[Any]) -> None:
    table = _one(
        user,
        "CREATE SEQUENCE q; CREATE TABLE t (a int GENERATED ALWAYS AS IDENTITY, b int GENERATED BY DEFAULT AS IDENTITY,"
        " c text COLLATE \"C\", d int GENERATED ALWAYS AS (a + 1) STORED, e int DEFAULT nextval('q'), f int NOT NULL)",
        "ALTER TABLE t DROP b; ALTER TABLE t RENAME c TO cc; ALTER TABLE t ADD b int",
    )
    assert [(c.id, c.name) for c in table.columns] == [(1, "a"), (3, "cc"), (4, "d"), (5, "e"), (6, "f"), (7, "b")]
    assert (table.named("a").identity, table.named("cc").collation) == ("always", 'pg_catalog."C"')
    assert (table.named("d").generated, table.named("d").default) == ("stored", "(a + 1)")
    assert table.named("e").default == "nextval('public.q'::regclass)"
    assert [c.name for c in table.columns if not c.nullable] == ["a", "f"]


KEYS: list[tuple[str, Key | None, Identity]] = [
    ("PRIMARY KEY (b, a)", Key((2, 1), "t_pkey", True), Identity.DEFAULT),
    ("PRIMARY KEY (a) DEFERRABLE", None, Identity.DEFAULT),
    ("PRIMARY KEY (a) DEFERRABLE, UNIQUE (b)", Key((2,), "t_b_key", False), Identity.DEFAULT),
    ("UNIQUE (n), UNIQUE (a, b), UNIQUE (b)", Key((2,), "t_b_key", False), Identity.DEFAULT),
    ("PRIMARY KEY (g), UNIQUE (b) INCLUDE (n)", Key((2,), "t_b_n_key", False), Identity.DEFAULT),
    ("UNIQUE (n)", None, Identity.DEFAULT),
    ("); CREATE UNIQUE INDEX i ON t (a) WHERE b > 1; CREATE UNIQUE INDEX j ON t ((a + b)", None, Identity.DEFAULT),
    (
        "PRIMARY KEY (a), UNIQUE (b)); ALTER TABLE t REPLICA IDENTITY USING INDEX t_b_key; SELECT (1",
        Key((2,), "t_b_key", False),
        Identity.INDEX,
    ),
    ("PRIMARY KEY (a)); ALTER TABLE t REPLICA IDENTITY FULL; SELECT (1", Key((1,), "t_pkey", True), Identity.FULL),
    ("CHECK (true)); ALTER TABLE t REPLICA IDENTITY NOTHING; SELECT (1", None, Identity.NOTHING),
]


def test_keys(user: Connection[Any]) -> None:
    columns = "a int NOT NULL, b int NOT NULL, n int, g int GENERATED ALWAYS AS (1) STORED NOT NULL"
    for made_by, key, identity in KEYS:
        rest = made_by if made_by.startswith(")") else ", " + made_by
        table = _one(user, f"DROP TABLE IF EXISTS t; CREATE TABLE t ({columns}{rest})")
        assert (table.key, table.identity) == (key, identity), made_by


def test_partitions_and_what_is_no_table(user: Connection[Any]) -> None:
    user.execute(
        "CREATE TABLE p (a int, d date) PARTITION BY RANGE (d, (a % 3)); CREATE TABLE p_rest PARTITION OF p DEFAULT;"
        "CREATE TABLE p_20 PARTITION OF p FOR VALUES FROM ('2020-01-01', 0) TO ('2021-01-01', 0);"
        "CREATE UNLOGGED TABLE fast (i int); CREATE TEMP TABLE gone (i int); CREATE VIEW v AS SELECT 1;"
        "CREATE MATERIALIZED VIEW m AS SELECT 1; CREATE TABLE heir () INHERITS (fast); CREATE TABLE bare ()"
    )
    tables = {t.name.name: t for t in inspect(user)}
    assert sorted(tables) == ["bare", "fast", "heir", "p", "p_20", "p_rest"]
    assert tables["p"].partition_key == "RANGE (d, ((a % 3)))" and tables["p"].is_partitioned
    found = tables["p_20"].partition
    assert found is not None and (found.of, found.of_name) == (tables["p"].id, TableName("public", "p"))
    assert found.bound == "FOR VALUES FROM ('2020-01-01', 0) TO ('2021-01-01', 0)"
    rest = tables["p_rest"].partition
    assert rest is not None and rest.bound == "DEFAULT"
    assert tables["fast"].unlogged and not tables["heir"].unlogged
    assert tables["heir"].partition is None and tables["bare"].columns == ()


def test_ids_are_answered_in_their_order(user: Connection[Any]) -> None:
    user.execute("CREATE TABLE b (i int); CREATE TABLE a (i int)")
    first, second = inspect(user)
    assert inspect(user, [second.id, 1, first.id]) == [second, first]
    assert inspect(user, []) == [] == inspect(user, patterns=("nowhere.*",))


def test_inside_a_transaction_the_settings_come_back(user: Connection[Any]) -> None:
    user.execute("CREATE TABLE t (i int)")
    with user.transaction():
        user.execute("SET LOCAL search_path = pg_temp")
        assert len(inspect(user)) == 1
        assert user.execute("SHOW search_path").fetchone() == ("pg_temp",)
