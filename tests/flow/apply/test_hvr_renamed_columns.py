"""With HVR's defaults a target without AdaptDDL takes the values of the source's columns that have its names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import TargetError
from tests.support.replica import Replica, channel_file

Begin = Callable[..., Replica]
ROWS = "SELECT to_jsonb(t) FROM t ORDER BY id"


@pytest.fixture
def begin(databases: Any, tmp_path: Path) -> Begin:
    """An active channel without an AdaptDDL action, and one table with a row."""

    def make(ddl: str = "triggers") -> Replica:
        file = channel_file(
            tmp_path, databases.source, databases.target, source={"ddl": ddl}, defaults="hvr", adapt_ddl=[]
        )
        replica = Replica(databases.source, databases.target, file)
        replica.at_source(
            "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL, b text DEFAULT 'none', n int)",
            "INSERT INTO t VALUES (1, 1, 'one', 1)",
        )
        replica.activate()
        return replica

    return make


@pytest.mark.req("HVR-D-54")
@pytest.mark.parametrize("ddl", ["triggers", "relations"])
@pytest.mark.parametrize(
    ("renamed", "why"),
    [("a", "INT-105: .* null value in column"), ("id", "INT-103: key columns are missing")],
    ids=["mandatory", "key"],
)
def test_a_renamed_column_that_the_target_can_not_do_without_is_an_integrate_error(
    begin: Begin, ddl: str, renamed: str, why: str
) -> None:
    """The log is read on, with the new name; the target has no column of that name."""
    replica = begin(ddl)
    replica.at_source(f"ALTER TABLE t RENAME {renamed} TO other", "INSERT INTO t VALUES (2, 2, 'two', 2)")
    with pytest.raises(TargetError, match=why) as caught:
        replica.replicate()
    assert caught.value.table == "public.t"
    assert replica.rows("SELECT id, a, b, n FROM t") == [(1, 1, "one", 1)]


@pytest.mark.req("HVR-D-54")
def test_other_renamed_columns_get_no_more_values_until_they_have_their_name_again(begin: Begin) -> None:
    replica = begin()
    replica.at_source(
        "INSERT INTO t VALUES (2, 2, 'two', 2)",
        "ALTER TABLE t RENAME b TO c",
        "ALTER TABLE t RENAME n TO m",
        "INSERT INTO t VALUES (3, 3, 'three', 3)",
        "UPDATE t SET a = 5, c = 'five', m = 5 WHERE id = 1",
    )
    told = replica.replicate()
    assert told.refresh.tables == {}
    assert sum("gets no more values" in warning for warning in told.adapt.warnings) == 2
    assert replica.rows(ROWS) == [
        ({"id": 1, "a": 5, "b": "one", "n": 1},),
        ({"id": 2, "a": 2, "b": "two", "n": 2},),
        ({"id": 3, "a": 3, "b": "none", "n": None},),
    ]
    replica.at_source(
        "ALTER TABLE t RENAME m TO n", "ALTER TABLE t DROP c, ADD b text", "INSERT INTO t VALUES (4, 4, 4, 'four')"
    )
    replica.replicate()
    assert replica.rows(ROWS)[3] == ({"id": 4, "a": 4, "b": "four", "n": 4},)


def test_columns_that_exchange_names_exchange_their_values(begin: Begin) -> None:
    """The target's column has those of the source's column of its name, before the exchange and after it."""
    replica = begin()
    replica.at_source("ALTER TABLE t ALTER n SET NOT NULL")
    replica.at_source(
        "BEGIN; ALTER TABLE t RENAME a TO x; ALTER TABLE t RENAME n TO a; ALTER TABLE t RENAME x TO n; COMMIT",
        "INSERT INTO t (id, a, n) VALUES (2, 20, 200)",
    )
    replica.replicate()
    assert replica.rows("SELECT id, a, n FROM t ORDER BY 1") == [(1, 1, 1), (2, 20, 200)]


def test_partitions_are_linked_as_their_table(begin: Begin) -> None:
    """A partition that comes after the rename has the columns of the target's partitioned table."""
    replica = begin()
    replica.at_source(
        "CREATE TABLE p (id int PRIMARY KEY, v text, w text) PARTITION BY RANGE (id)",
        "CREATE TABLE p0 PARTITION OF p FOR VALUES FROM (0) TO (10)",
    )
    replica.activate()
    replica.settle()
    replica.at_source(
        "INSERT INTO p VALUES (1, 'one', 'one')",
        "ALTER TABLE p RENAME v TO x",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (10) TO (20)",
        "INSERT INTO p VALUES (2, 'two', 'two'), (12, 'twelve', 'twelve')",
    )
    replica.replicate()
    found = [(1, "one", "one"), (2, None, "two"), (12, None, "twelve")]
    assert replica.rows("SELECT id, v, w FROM p ORDER BY 1") == found


def test_a_target_that_follows_again_has_the_new_names(begin: Begin) -> None:
    replica = begin()
    replica.at_source("ALTER TABLE t RENAME b TO c", "INSERT INTO t VALUES (2, 2, 'two', 2)")
    replica.replicate()
    text = replica.file.read_text()
    replica.file.write_text(text.replace("adapt_ddl: []", "adapt_ddl: [{add_table_pattern: '*'}]"))
    replica.at_source("ALTER TABLE t ADD m int")
    assert replica.replicate().refresh.tables == {"public.t": 2}
    replica.check_equal()
