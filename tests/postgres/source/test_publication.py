"""What is published is known without a lock on any table, and as the server itself tells it."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.engines.postgres.catalog.publication import published
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from tests.conftest import Databases

both = pytest.mark.parametrize("databases", [18, 15], indirect=True)
TABLES = (
    "CREATE SCHEMA s",
    "CREATE TABLE a (n int)",
    "CREATE TABLE s.b (n int)",
    "CREATE UNLOGGED TABLE s.unlogged (n int)",
    "CREATE VIEW s.v AS SELECT 1",
    "CREATE TABLE p (n int) PARTITION BY RANGE (n)",
    "CREATE TABLE s.p1 PARTITION OF p FOR VALUES FROM (1) TO (5) PARTITION BY LIST (n)",
    "CREATE TABLE p11 PARTITION OF s.p1 FOR VALUES IN (1)",
    "CREATE TABLE p2 PARTITION OF p DEFAULT",
    "CREATE TABLE parent (n int)",
    "CREATE TABLE s.child () INHERITS (parent)",
    "CREATE TABLE detached (n int)",
)
KINDS = (
    "FOR TABLE a, p",
    "FOR TABLE s.p1, ONLY parent",
    "FOR TABLE parent",
    "FOR TABLES IN SCHEMA s",
    "FOR ALL TABLES",
    "",
)


@both
@pytest.mark.parametrize("kind", KINDS)
def test_as_the_server_tells_it(databases: Databases, kind: str) -> None:
    with connect(databases.source) as connection:
        for statement in (*TABLES, f"CREATE PUBLICATION one {kind}", "CREATE PUBLICATION two FOR TABLE detached"):
            connection.execute(statement.encode())
        rows = connection.execute("SELECT relid::bigint FROM pg_get_publication_tables('one')").fetchall()
        assert published(connection, "one") == {i for (i,) in rows}
        assert bool(rows) == bool(kind) and published(connection, "none") == set()
