"""Generated columns that stand before what they are computed from, or whose inputs go or change: nothing stops."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.replica import Make

BESIDE = "CREATE TABLE beside (id int PRIMARY KEY)"
BEFORE = "CREATE TABLE t (id int PRIMARY KEY, g bigint GENERATED ALWAYS AS (b * 2) STORED, b int)"
INPUTS = "CREATE TABLE t (id int PRIMARY KEY, b int, c int, g int GENERATED ALWAYS AS (b * 2) STORED)"


@pytest.mark.parametrize("options", ["", "-gr"], ids=["exchanged", "row by row"])
@pytest.mark.parametrize("old", ["CREATE TABLE t (id int PRIMARY KEY)", INPUTS], ids=["bare", "with inputs"])
def test_a_table_is_made_again_with_the_generated_column_first(make: Make, old: str, options: str) -> None:
    adapt = [{"add_table_pattern": "*", **({"refresh_options": options} if options else {})}]
    replica = make(BESIDE, old, "INSERT INTO t (id) VALUES (1)", adapt_ddl=adapt)
    replica.at_source("DROP TABLE t", BEFORE, "INSERT INTO t (id, b) VALUES (1, 2)", "INSERT INTO beside VALUES (1)")
    replica.settle()
    assert replica.rows("SELECT id, b, g FROM t") == [(1, 2, 4)]
    assert replica.rows("SELECT id FROM beside") == [(1,)]


@pytest.mark.parametrize("options", ["", "-gr"], ids=["exchanged", "row by row"])
def test_a_table_is_filled_when_it_is_made_again(make: Make, options: str) -> None:
    """Its rows come by a refresh, into the layout that the target's table gets."""
    adapt = [{"add_table_pattern": "*", **({"refresh_options": options} if options else {})}]
    replica = make(INPUTS, "INSERT INTO t (id, b) VALUES (1, 2)", adapt_ddl=adapt)
    made = "CREATE TABLE t (g text GENERATED ALWAYS AS (e || 'x') STORED, id int PRIMARY KEY, e text)"
    replica.at_source("DROP TABLE t", f"DO $$ BEGIN {made}; INSERT INTO t VALUES (DEFAULT, 1, 'e'); END $$")
    replica.settle()
    assert replica.rows("SELECT id, e, g FROM t") == [(1, "e", "ex")]


IN_ONE = {
    "dropped": "ALTER TABLE t ALTER g SET EXPRESSION AS (c * 2); ALTER TABLE t DROP b",
    "retyped": "ALTER TABLE t ALTER g SET EXPRESSION AS (c * 2); ALTER TABLE t ALTER b TYPE bigint;"
    " ALTER TABLE t RENAME b TO bb; ALTER TABLE t ALTER g SET EXPRESSION AS (bb * 3)",
    "made again": "ALTER TABLE t ALTER g SET EXPRESSION AS (c * 2); ALTER TABLE t DROP b; ALTER TABLE t ADD b int;"
    " ALTER TABLE t ALTER g SET EXPRESSION AS (b * 2)",
    "plain": "ALTER TABLE t ALTER g DROP EXPRESSION; ALTER TABLE t DROP b; ALTER TABLE t ALTER g TYPE bigint",
    "both go": "ALTER TABLE t DROP g; ALTER TABLE t DROP b",
    "type of both": "ALTER TABLE t DROP g; ALTER TABLE t ALTER b TYPE text;"
    " ALTER TABLE t ADD g text GENERATED ALWAYS AS (b || 'x') STORED",
}


@pytest.mark.parametrize("seen", ["event_triggers", "relations"])
@pytest.mark.parametrize("tree", ["", " PARTITION BY RANGE (id)"], ids=["plain", "partitioned"])
@pytest.mark.parametrize("what", IN_ONE)
def test_inputs_change_in_one_transaction(make: Make, what: str, tree: str, seen: str) -> None:
    """Without event triggers only the result is known."""
    parts = ["CREATE TABLE p PARTITION OF t FOR VALUES FROM (0) TO (10)"] if tree else []
    source: dict[str, Any] = {"source": {"ddl": seen}} if seen == "relations" else {}
    replica = make(BESIDE, INPUTS + tree, *parts, "INSERT INTO t (id, b, c) VALUES (1, 2, 3)", **source)
    replica.at_source(f"BEGIN; {IN_ONE[what]}; COMMIT", "INSERT INTO t (id) VALUES (2)")
    replica.at_source("INSERT INTO beside VALUES (1)")
    replica.settle()
    replica.settle()
    assert replica.rows("SELECT id FROM beside") == [(1,)]
