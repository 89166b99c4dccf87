"""What is promised of adapting as such: from the catalog, not from the text; late, once, and by the refresh of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.model.revision import Origin
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file

LOOKED_AT = {"ddl": "relations"}  # no event triggers: shapes are compared, cycle by cycle


def new_replica(databases: Databases, folder: Path, *statements: str, **more: Any) -> Replica:
    file = channel_file(folder, databases.source, databases.target, **more)
    found = Replica(databases.source, databases.target, file)
    found.at_source(*statements)
    found.activate()
    return found


def shapes(replica: Replica, table: str) -> list[list[str]]:
    """The columns of every revision."""
    with flow.open_channel(replica.file, InProcess()) as run:
        known = [r.table for r in run.repository.revisions("shop") if r.table and r.table.name.name == table]
    return [[column.name for column in found.columns] for found in known]


@pytest.mark.req("HVR-O-12")
def test_a_change_whose_text_nobody_has(databases: Databases, tmp_path: Path) -> None:
    """What the catalog shows is taken."""
    replica = new_replica(databases, tmp_path, "CREATE TABLE t (id int PRIMARY KEY)", source=LOOKED_AT)
    replica.at_source("ALTER TABLE t ADD m int", "INSERT INTO t VALUES (1, 2)")
    replica.settle()
    assert replica.rows("SELECT m FROM t") == [(2,)]
    with flow.open_channel(replica.file, InProcess()) as run:
        known = run.repository.revisions("shop")
    assert [(r.origin, r.statement) for r in known] == [(Origin.INSPECTED, None), (Origin.INSPECTED, None)]
    assert shapes(replica, "t") == [["id"], ["id", "m"]]


@pytest.mark.req("HVR-O-17")
def test_a_new_table_takes_the_actions_for_all_tables(databases: Databases, tmp_path: Path) -> None:
    actions = [
        {"table": "old_t", "keep_existing_structure": True},
        {"add_table_pattern": "*", "on_add_column_with_default": "ADD_COLUMN_WITH_EMPTY_DEFAULT"},
    ]
    made = "CREATE TABLE {} (id int PRIMARY KEY, gone int)"
    replica = new_replica(databases, tmp_path, made.format("old_t"), adapt_ddl=actions)
    replica.at_source(made.format("new_t"))
    for table in ("old_t", "new_t"):
        replica.at_source(
            f"INSERT INTO {table} VALUES (1, 1)",
            f"ALTER TABLE {table} DROP gone",
            f"ALTER TABLE {table} ADD filled int DEFAULT 7",
        )
    replica.replicate()
    assert replica.rows("SELECT id, gone, filled FROM old_t") == [(1, 1, None)]
    assert replica.rows("SELECT to_jsonb(t) FROM new_t t") == [({"id": 1, "filled": None},)]


@pytest.mark.req("HVR-O-19")
def test_what_is_seen_late_is_adapted_to_as_it_is_then(databases: Databases, tmp_path: Path) -> None:
    """The second change is no change any more."""
    replica = new_replica(databases, tmp_path, source=LOOKED_AT)
    replica.at_source("CREATE TABLE t (c1 int PRIMARY KEY)", "ALTER TABLE t ADD c2 int", "INSERT INTO t VALUES (1, 2)")
    replica.settle()
    assert shapes(replica, "t") == [["c1", "c2"]]
    with flow.open_channel(replica.file, InProcess()) as run:
        assert [r.statement for r in run.repository.revisions("shop")] == [None]
    assert replica.rows("SELECT c1, c2 FROM t") == [(1, 2)]


@pytest.mark.req("HVR-O-20")
@pytest.mark.parametrize("source", [{}, LOOKED_AT], ids=["triggers", "looked at"])
def test_rows_that_were_kept_out_of_the_log_are_loaded(
    databases: Databases, tmp_path: Path, source: dict[str, str]
) -> None:
    replica = new_replica(databases, tmp_path, source=source)
    replica.at_source(
        "CREATE UNLOGGED TABLE t (id int PRIMARY KEY, v text)",
        "INSERT INTO t SELECT i, 'bulk' FROM generate_series(1, 500) i",
        "ALTER TABLE t SET LOGGED",
        "INSERT INTO t VALUES (501, 'in the log')",
    )
    assert replica.settle().refresh.tables == {"public.t": 501}


@pytest.mark.parametrize(
    "source", [{}, pytest.param(LOOKED_AT, marks=pytest.mark.req("HVR-O-21"))], ids=["triggers", "looked at"]
)
def test_a_table_dropped_and_created_several_times(
    databases: Databases, tmp_path: Path, source: dict[str, str]
) -> None:
    """No capture runs in between. Without event triggers the last version is handled, once, by a refresh; with them
    each has its rows in the log, and none needs a refresh.
    """
    replica = new_replica(databases, tmp_path, "CREATE TABLE t (id int PRIMARY KEY)", source=source)
    for number in range(3):
        replica.at_source(
            "DROP TABLE t",
            f"CREATE TABLE t (id int PRIMARY KEY, c{number} int)",
            f"INSERT INTO t SELECT i, {number} FROM generate_series(1, 20) i",
        )
    done = replica.settle()
    assert done.refresh.tables == ({"public.t": 20} if source else {})
    assert replica.rows("SELECT to_jsonb(t) FROM t WHERE id = 20") == [({"id": 20, "c2": 2},)]
    between = [] if source else [["id", "c0"], ["id", "c1"]]
    assert shapes(replica, "t") == [["id"], *between, ["id", "c2"]]
    with flow.open_channel(replica.file, InProcess()) as run:
        assert [row.rows for row in run.repository.refreshes("shop")] == ([0, 20] if source else [0])


def test_a_table_that_comes_back_with_a_default_that_no_row_can_have(databases: Databases, tmp_path: Path) -> None:
    """CREATE TABLE takes it, ADD COLUMN to the table that stands does not."""
    replica = new_replica(databases, tmp_path, "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    replica.at_source(
        "DROP TABLE t",
        "CREATE TABLE t (id int PRIMARY KEY, c char(3) DEFAULT '2026-01-01' NOT NULL, d int DEFAULT 4)",
        "INSERT INTO t (id, c) VALUES (2, 'abc')",
    )
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT id, c, d FROM t") == [(2, "abc", 4)]
    assert len(replica.rows("SELECT FROM pg_attrdef WHERE adrelid = 't'::regclass")) == 2


class Recording(InProcess):
    """Remembers which functions it was given, and what for."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def map(self, task: Callable[..., Any], items: Sequence[Any], label: str, size: int | None = None) -> list[Any]:
        self.seen.append((f"{task.__module__}.{task.__qualname__}", label))
        return super().map(task, items, label, size)


@pytest.mark.req("HVR-O-22")
def test_adapting_loads_a_table_as_a_refresh_by_hand_does(databases: Databases, tmp_path: Path) -> None:
    replica = new_replica(
        databases, tmp_path, "CREATE TABLE t (id int PRIMARY KEY, n int)", "INSERT INTO t VALUES (1, 1)"
    )
    by_hand, adapting = Recording(), Recording()
    with flow.open_channel(replica.file, by_hand) as run:
        flow.refresh(run, ["public.t"])
    replica.at_source("ALTER TABLE t ALTER n TYPE text USING n * 2")
    with flow.open_channel(replica.file, adapting) as run:
        result: Any = flow.replicate(run)
    assert result.refresh.tables == {"public.t": 1}
    assert by_hand.seen
    assert [one for one in adapting.seen if one[1] == "refresh"] == by_hand.seen
