"""Rows of every type come to the target of an apply process as they are."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import psycopg

from tests.flow.refresh.test_random_types import World, difference, fitting, sent
from tests.flow.streams.apply_process.test_instantiate import RULES, begun, loaded
from tests.postgres.apply_lcrs.applying import ask
from tests.postgres.log.test_capture_range_types import has_xml
from tests.support.builtin_types import find
from tests.support.replica import BOTH

OF_USERS = (
    "CREATE SCHEMA hr; CREATE SCHEMA oe; CREATE SCHEMA types",
    "CREATE TYPE types.mood AS ENUM ('so so', 'it''s \"fine\"')",
    "CREATE DOMAIN hr.price AS numeric(8, 2) CHECK (VALUE >= 0)",
    "CREATE TYPE hr.place AS (city text, at point, m types.mood)",
    "CREATE SEQUENCE hr.numbers",
    """CREATE TABLE hr.t (
        id bigint GENERATED ALWAYS AS IDENTITY, "a Name" types.mood[] NOT NULL, p hr.price, w hr.place, gone int,
        n int DEFAULT nextval('hr.numbers'), twice numeric GENERATED ALWAYS AS (p * 2) STORED,
        c char(5) COLLATE "C", PRIMARY KEY (id, "a Name"))""",
    "ALTER TABLE hr.t DROP COLUMN gone",
    """INSERT INTO hr.t ("a Name", p, w, c) VALUES
        ('{so so,NULL}'::types.mood[], 1.50, ROW(E'a "b"\\\\,\\n\\t', '(1,2)', NULL), 'x'), ('{}', NULL, NULL, ''),
        (ARRAY['it''s "fine"']::types.mood[], 0, ROW(NULL, NULL, 'so so'), E'\\\\N')""",
    "CREATE TABLE hr.nothing ()",
    "INSERT INTO hr.nothing DEFAULT VALUES",
    "CREATE TABLE hr.parts (id int, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)",
    "CREATE TABLE hr.p1 PARTITION OF hr.parts FOR VALUES FROM ('2020-01-01') TO ('2021-01-01') PARTITION BY LIST (id)",
    "CREATE TABLE hr.p11 PARTITION OF hr.p1 DEFAULT",
    "CREATE TABLE hr.p2 PARTITION OF hr.parts DEFAULT",
    "INSERT INTO hr.parts VALUES (1, '2020-05-05'), (2, '2022-02-02')",
)


@BOTH
def test_every_builtin_type(databases: Any, tmp_path: Path) -> None:
    with psycopg.connect(databases.source, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA hr; CREATE SCHEMA oe")
        connection.execute("SET search_path = hr")
        version = databases.server.version
        kinds = fitting(find(connection, version), "text", has_xml(connection))
        world = World(connection, kinds, random.Random(f"instantiate {version}"))
        world.create()
        world.fill(4)
        channel = begun(tmp_path, databases, RULES, at_source=())
        assert set(loaded(channel).rows) == {f"hr.{table}" for table in world.tables}
        for table, of in world.tables.items():
            ours, theirs = sent(databases.source, f"hr.{table}", of), sent(databases.target, f"hr.{table}", of)
            assert ours == theirs, difference(of, ours, theirs)


@BOTH
def test_types_of_users_computed_columns_and_partitions(databases: Any, tmp_path: Path) -> None:
    channel = begun(tmp_path, databases, RULES, at_source=OF_USERS)
    result = loaded(channel)
    assert result.rows == {
        "hr.t": 3, "hr.nothing": 1, "hr.parts": 0, "hr.p1": 0, "hr.p11": 1, "hr.p2": 1,
    }  # fmt: skip
    for table in ("t", "parts", "p1", "nothing"):
        query = f"SELECT x::text FROM hr.{table} x ORDER BY 1"
        assert ask(databases.target, query) == ask(databases.source, query)
    shape = (
        "SELECT attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated,"
        " attcollation::regcollation FROM pg_attribute WHERE attrelid = 'hr.t'::regclass AND attnum > 0"
        " AND NOT attisdropped ORDER BY attnum"
    )
    theirs, ours = ask(databases.target, shape), ask(databases.source, shape)
    for part in (slice(3), slice(4, None)):  # an identity column lets values in
        assert [row[part] for row in theirs] == [row[part] for row in ours]
    assert ask(databases.target, "SELECT to_regclass('hr.numbers')") == [(None,)]
