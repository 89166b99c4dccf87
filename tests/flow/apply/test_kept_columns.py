"""keep_existing_structure: what the source has dropped stays at the target with its values, whatever comes later."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.errors import CannotAdapt
from tests.flow.refresh.test_partition_refresh import PARTED
from tests.support.replica import Make

KEEP = {"adapt_ddl": [{"add_table_pattern": "*", "keep_existing_structure": True}]}
VOLATILE = "ALTER TABLE t ADD c int DEFAULT (random() * 100)::int"
ROWS = ("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
hanging = pytest.mark.parametrize("view", [False, True], ids=["replaced", "exchanged"])


@hanging
def test_it_makes_way_for_a_new_column_that_is_loaded(make: Make, view: bool) -> None:
    replica = make(*ROWS, **KEEP)
    if view:
        replica.at_target("CREATE VIEW hangs AS SELECT id FROM t")
    replica.at_source("ALTER TABLE t DROP v", "ALTER TABLE t ADD v int DEFAULT (random() * 100)::int")
    assert set(replica.replicate().refresh.tables) == {"public.t"}
    assert replica.rows("SELECT id, v_kept FROM t ORDER BY id") == [(1, "a"), (2, "b")]


@hanging
def test_the_key_is_called_otherwise_by_the_time_of_the_refresh(make: Make, view: bool) -> None:
    replica = make(*ROWS, **KEEP)
    if view:
        replica.at_target("CREATE VIEW hangs AS SELECT 1 FROM t")
    replica.at_source("ALTER TABLE t DROP v", VOLATILE, "ALTER TABLE t RENAME id TO ident")
    assert set(replica.replicate().refresh.tables) == {"public.t"}
    assert replica.rows("SELECT ident, v FROM t ORDER BY 1") == [(1, "a"), (2, "b")]


def test_the_key_is_spelled_otherwise_by_the_time_of_the_refresh(make: Make) -> None:
    """1 has become 1.00."""
    replica = make(*ROWS, **KEEP)
    replica.at_source("ALTER TABLE t DROP v", "ALTER TABLE t ALTER id TYPE numeric(9,2) USING id::numeric * 1")
    assert set(replica.replicate().refresh.tables) == {"public.t"}
    assert replica.rows("SELECT id::int, v FROM t ORDER BY id") == [(1, "a"), (2, "b")]


def test_without_a_key_the_refresh_is_refused_while_there_are_values(make: Make) -> None:
    replica = make("CREATE TABLE t (id int, v text)", "INSERT INTO t VALUES (1, 'a'), (2, 'b')", **KEEP)
    replica.at_source("ALTER TABLE t DROP v", VOLATILE)
    with pytest.raises(CannotAdapt, match="ADP-132"):
        replica.replicate()
    assert replica.rows("SELECT id, v FROM t ORDER BY id") == [(1, "a"), (2, "b")]
    replica.at_target("UPDATE t SET v = NULL")
    replica.replicate()
    assert replica.rows("SELECT count(c), count(v) FROM t") == [(2, 0)]


def test_a_virtual_column_keeps_what_it_showed(make: Make) -> None:
    """PostgreSQL can't drop the expression of one."""
    replica = make(
        "CREATE TABLE t (id int PRIMARY KEY, a int, g int GENERATED ALWAYS AS (a * 2) VIRTUAL)",
        "INSERT INTO t VALUES (1, 5)",
        **KEEP,
    )
    replica.at_source("ALTER TABLE t DROP g", "INSERT INTO t VALUES (2, 6)")
    replica.replicate()
    assert replica.rows("SELECT id, a, g FROM t ORDER BY id") == [(1, 5, 10), (2, 6, None)]


def test_a_new_partition_has_it_too(make: Make) -> None:
    """One that is made, one that is loaded, and one that was a table of its own."""
    replica = make(
        *PARTED, "CREATE TABLE q (id int, k int, PRIMARY KEY (id, k))", "INSERT INTO q VALUES (4, 4)", **KEEP
    )
    replica.at_source("ALTER TABLE p DROP v", "INSERT INTO p VALUES (2, 1)")
    replica.replicate()
    replica.at_source(
        "CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2)",
        "INSERT INTO p VALUES (2, 2)",
        "CREATE TABLE p3 AS SELECT 3 AS id, 3 AS k",
        "ALTER TABLE p3 ADD PRIMARY KEY (id, k)",
        "ALTER TABLE p ATTACH PARTITION p3 FOR VALUES IN (3)",
        "ALTER TABLE p ATTACH PARTITION q FOR VALUES IN (4)",
        "INSERT INTO p VALUES (5, 4)",
        "ALTER TABLE p ADD w int DEFAULT 7",
    )
    replica.replicate()
    found = replica.rows("SELECT id, k, v, w FROM p ORDER BY 1, 2")
    assert found == [
        (1, 1, "a", 7),
        (2, 1, None, 7),
        (2, 2, None, 7),
        (3, 3, None, 7),
        (4, 4, None, 7),
        (5, 4, None, 7),
    ]
