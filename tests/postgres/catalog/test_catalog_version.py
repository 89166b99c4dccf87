"""The catalog's version: another one after every change that a table's shape can tell, the same one otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import Connection

from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect_unlocked
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from tests.conftest import Databases

pytestmark = pytest.mark.parametrize("databases", [18, 15], indirect=True)

START = """
CREATE SCHEMA s2; CREATE TYPE mood AS ENUM ('a'); CREATE TYPE pair AS (a int); CREATE DOMAIN price AS int;
CREATE FUNCTION seven() RETURNS int LANGUAGE sql AS 'SELECT 7';
CREATE TABLE t (id int PRIMARY KEY, v text, m mood, p pair, c price, n int DEFAULT seven());
CREATE UNIQUE INDEX t_v ON t (v); ALTER TABLE t ALTER v SET NOT NULL;
CREATE TABLE parted (day int) PARTITION BY LIST (day); CREATE TABLE part (day int); CREATE SEQUENCE numbers;
ALTER TABLE t ADD s int DEFAULT nextval('numbers')
"""
CHANGES = (
    "ALTER TABLE t ADD x int",
    "ALTER TABLE t RENAME v TO w",
    "ALTER TABLE t RENAME TO u; ALTER TABLE u RENAME TO t",
    "ALTER TABLE t SET SCHEMA s2; ALTER TABLE s2.t SET SCHEMA public",
    "ALTER TABLE t ALTER n SET DEFAULT 8",
    "ALTER TABLE t ALTER n SET DEFAULT seven()",
    "ALTER FUNCTION seven() RENAME TO eight",
    "ALTER SEQUENCE numbers RENAME TO numerals",
    "ALTER TYPE mood ADD VALUE 'b'",
    "ALTER TYPE mood RENAME VALUE 'b' TO 'c'",
    "ALTER TYPE mood RENAME TO humour",
    "ALTER TYPE pair ADD ATTRIBUTE b int",
    "ALTER DOMAIN price SET NOT NULL",
    "ALTER DOMAIN price ADD CHECK (VALUE > 0) NOT VALID",
    "ALTER SCHEMA s2 RENAME TO s3",
    "ALTER TABLE t REPLICA IDENTITY USING INDEX t_v",
    "ALTER INDEX t_v RENAME TO t_w",
    "ALTER TABLE t REPLICA IDENTITY FULL",
    "ALTER TABLE parted ATTACH PARTITION part FOR VALUES IN (1)",
    "ALTER TABLE parted DETACH PARTITION part",
    "ALTER TABLE t SET UNLOGGED",
    "TRUNCATE t",
    "ALTER TABLE t DROP n",
    "DROP TABLE part",
)


@pytest.fixture
def user(databases: Databases) -> Iterator[Connection[Any]]:
    with connect(databases.source) as connection:
        for statement in START.split(";"):
            connection.execute(statement.encode())
        yield connection


def test_it_changes_with_every_shape(user: Connection[Any]) -> None:
    before = inspect_unlocked(user)
    for change in CHANGES:
        user.execute(change.encode())
        now = inspect_unlocked(user, before.version)
        assert now.tables is not None and now.version != before.version, change
        before = now
    assert inspect_unlocked(user, before.version).tables is None


def test_it_stays_while_rows_and_temporary_tables_come_and_go(user: Connection[Any]) -> None:
    before = inspect_unlocked(user)
    user.execute("INSERT INTO t (id, v) SELECT i, i::text FROM generate_series(1, 1000) i")
    for statement in ("VACUUM FREEZE t", "ANALYZE", "CREATE TEMP TABLE x (a int PRIMARY KEY, b mood)"):
        user.execute(statement.encode())
    assert inspect_unlocked(user).version == before.version
    user.execute("DROP TABLE x")
    assert inspect_unlocked(user, before.version).tables is None


def test_a_change_that_is_not_committed_is_none(user: Connection[Any], databases: Databases) -> None:
    before = inspect_unlocked(user)
    with connect(databases.source) as other, other.transaction(force_rollback=True):
        other.execute("ALTER TABLE t ADD x int")
        assert inspect_unlocked(user, before.version).tables is None
    assert inspect_unlocked(user, before.version).tables is None
