"""Statements about types that PostgreSQL itself stumbles over when another one follows in the same transaction."""
# ruff: noqa: F811 - a fixture's name is a parameter of the tests that use it

from __future__ import annotations

from tests.live.test_flow_stories import BOTH, Make, make  # noqa: F401 - `make` is a fixture


@BOTH
def test_a_new_type_follows_a_check_that_goes(make: Make) -> None:
    """After DROP CONSTRAINT of a domain the server can't begin a subtransaction: it has messages to work off."""
    replica = make("CREATE DOMAIN pos AS int CHECK (VALUE > 0)", "CREATE TABLE t (id int PRIMARY KEY, p pos)")
    replica.settle()
    replica.at_source(
        "ALTER DOMAIN pos DROP CONSTRAINT pos_check",
        "CREATE TYPE hue AS ENUM ('red')",
        "ALTER TABLE t ADD h hue",
        "INSERT INTO t VALUES (1, -5, 'red')",
    )
    replica.settle()
    assert replica.rows("SELECT id, p::int, h::text FROM t") == [(1, -5, "red")]
