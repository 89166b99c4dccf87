"""Rows that the server writes anew with other values, and no change of shape shows it."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.errors import ControlStop
from tests.support.replica import BOTH, Make


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


MORE = [
    "ADD x int",
    "ALTER n TYPE bigint",
    "ALTER n SET NOT NULL",
    "ALTER n SET DEFAULT 4",
    "DROP n",
    "ADD UNIQUE (id)",
]


@BOTH
@pytest.mark.parametrize("end", ["", "; SELECT 1"], ids=["known", "one of two"])
@pytest.mark.parametrize("more", MORE)
def test_the_same_statement_changes_more(make: Make, more: str, end: str) -> None:
    replica = make("CREATE TABLE t (id int NOT NULL, v int, n int)", "INSERT INTO t VALUES (1, 5, 5)")
    replica.at_source(f"ALTER TABLE t ALTER v TYPE int USING v + 1, {more}{end}")
    replica.settle()
    assert replica.rows("SELECT v FROM t") == [(6,)]


def test_of_partitions(make: Make) -> None:
    replica = make(
        "CREATE TABLE p (id int, v int, n int) PARTITION BY LIST (id)",
        "CREATE TABLE p1 PARTITION OF p DEFAULT",
        "INSERT INTO p VALUES (1, 5, 5)",
    )
    replica.at_source("ALTER TABLE p ALTER v TYPE int USING v + 1, ADD x int")
    replica.settle()


def test_the_second_of_two_statements_in_one_text(make: Make) -> None:
    """What the first one says of the column is not what the second one did."""
    replica = make("CREATE TABLE t (id int PRIMARY KEY, v int, n int, d int)", "INSERT INTO t VALUES (1, 5, 5, 5)")
    replica.at_source(
        "DO $$ BEGIN EXECUTE 'ALTER TABLE t ALTER v TYPE bigint, ALTER d SET DEFAULT 4;"
        " ALTER TABLE t ALTER v TYPE int USING v + 1, ALTER n TYPE bigint'; END $$"
    )
    replica.settle()
    assert replica.rows("SELECT v FROM t") == [(6,)]


def answering(policy: str) -> list[dict[str, str]]:
    return [{"add_table_pattern": "*", "on_enroll_break": policy}]


def test_a_warning_leaves_the_rows(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY, v int)", adapt_ddl=answering("WARNING"))
    replica.at_source("INSERT INTO t VALUES (1, 5)")
    replica.settle()
    replica.at_source("ALTER TABLE t ALTER v TYPE int USING 6", "INSERT INTO t VALUES (2, 7)")
    result = replica.replicate()
    assert "public.t: the server rewrote the rows" in "\n".join(result.adapt.warnings)
    assert result.refresh.tables == {}
    assert replica.rows("SELECT * FROM t ORDER BY id") == [(1, 5), (2, 7)]


def test_a_breakpoint_stands_before_the_new_values(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY, v int)", adapt_ddl=answering("FAIL_INTEG_JOB"))
    replica.at_source("INSERT INTO t VALUES (1, 5)")
    replica.settle()
    replica.at_source("INSERT INTO t VALUES (2, 7)", "ALTER TABLE t ALTER v TYPE int USING 6")
    replica.at_source("INSERT INTO t VALUES (3, 8)")
    with pytest.raises(ControlStop, match="the server rewrote the rows"):
        replica.replicate()
    assert replica.rows("SELECT * FROM t ORDER BY id") == [(1, 5), (2, 7)]
