"""Rows that the server writes anew with other values, and no change of shape shows it."""
# ruff: noqa: F811 - a fixture's name is a parameter of the tests that use it

from __future__ import annotations

import pytest

from tests.live.test_flow_stories import BOTH, Make, make  # noqa: F401 - `make` is a fixture


@BOTH
@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize("kind", ["jsonb", "int", "text"])
def test_a_column_gets_other_values_and_the_type_it_has(make: Make, kind: str, settled: bool) -> None:
    replica = make(f"CREATE TABLE t (id int PRIMARY KEY, v {kind})")
    replica.at_source("INSERT INTO t VALUES (1, '5')")
    if settled:
        replica.settle()
    replica.at_source(f"ALTER TABLE t ALTER v TYPE {kind} USING ('6'::{kind})")
    assert set(replica.settle().refresh.tables) == {"public.t"}
    assert replica.rows("SELECT v::text FROM t") == [("6",)]
    replica.at_source(f"ALTER TABLE t ALTER v TYPE {kind}")
    assert replica.settle().refresh.tables == {}
