"""Keys of users' types, and rows between the schema changes that make these types: all of it in one cycle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.replica import Replica, channel_file

RANGE = "CREATE TYPE r AS RANGE (subtype = float8)"
ENUM = "CREATE TYPE r AS ENUM ('x', 'y')"
COMPOSITE = "CREATE TYPE r AS (a int)"
KEY = ("ALTER TABLE t DROP CONSTRAINT t_pkey", "ALTER TABLE t ADD PRIMARY KEY (id, k)")
NEW = {
    "range": (RANGE, "ALTER TABLE t ADD k r DEFAULT '[1,2)'", *KEY),
    "multirange in an array": (RANGE, "ALTER TABLE t ADD k r_multirange[] DEFAULT '{}'", *KEY),
    "enum in an array": (ENUM, "ALTER TABLE t ADD k r[] DEFAULT '{x}'", *KEY),
    "domain over an array": (
        "CREATE DOMAIN r AS interval[]",
        "ALTER TABLE t ADD k r DEFAULT '{1 day}'",
        *KEY,
    ),
    "composite of an enum": (
        ENUM,
        "CREATE TYPE c AS (a int, b r[])",
        "ALTER TABLE t ADD k c DEFAULT ROW(1, '{y}')",
        *KEY,
    ),
}
CHANGED = {
    "renamed": (RANGE, "r", "'[1,2)'", "ALTER TYPE r RENAME TO other", "'[3,4)'"),
    "moved": (COMPOSITE, "r", "ROW(1)", "ALTER TYPE r SET SCHEMA elsewhere", "ROW(2)"),
    "with one attribute more": (COMPOSITE, "r", "ROW(1)", "ALTER TYPE r ADD ATTRIBUTE b text", "ROW(1, 'b')"),
    "with one label more": (ENUM, "r[]", "'{x}'", "ALTER TYPE r ADD VALUE 'z' BEFORE 'x'", "'{z,x}'"),
}
LAST = "CREATE TABLE last (id int PRIMARY KEY)"


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    """Not activated yet."""
    file = channel_file(tmp_path, databases.source, databases.target)
    return Replica(databases.source, databases.target, file)


@pytest.mark.parametrize("what", NEW)
def test_a_type_that_comes_into_the_key(replica: Replica, what: str) -> None:
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (0)")
    replica.activate()
    replica.at_source(
        *NEW[what], "INSERT INTO t SELECT i FROM generate_series(1, 5) i", "DELETE FROM t WHERE id = 3", LAST
    )
    replica.replicate()
    replica.check_equal()


@pytest.mark.parametrize("what", CHANGED)
def test_a_type_of_the_key_that_changes(replica: Replica, what: str) -> None:
    made, of, first, change, second = CHANGED[what]
    replica.at_source("CREATE SCHEMA elsewhere", made, f"CREATE TABLE t (k {of} PRIMARY KEY, v int)")
    replica.activate()
    replica.at_source(f"INSERT INTO t VALUES ({first}, 1)", change, f"INSERT INTO t VALUES ({second}, 1)")
    replica.at_source("UPDATE t SET v = v + 1", LAST)
    replica.replicate()
    replica.check_equal()
    assert replica.rows("SELECT count(*), sum(v) FROM t") == [(2, 4)]
    left = "SELECT typname FROM pg_type WHERE typnamespace = 'ddlrepl'::regnamespace AND typname LIKE 't\\_%'"
    assert replica.rows(left) == []
