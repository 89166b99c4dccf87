"""Rows that the source rewrote where no event trigger looked: other files and definitions of columns show it."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.support.replica import BOTH, Make, Replica

TABLE = ("CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 7), (2, 8)")
OTHER_VALUES = "ALTER TABLE t ALTER v TYPE int USING v + 1000"


def switched_off(replica: Replica, *statements: str) -> None:
    """Event triggers are off while they run, and then on again: no cycle sees them off."""
    with psycopg.connect(replica.source, autocommit=True) as session:
        names = [n for (n,) in session.execute("SELECT evtname FROM pg_event_trigger WHERE evtname LIKE 'ddlrepl%'")]
        for name in names:
            session.execute(f"ALTER EVENT TRIGGER {name} DISABLE".encode())
        for statement in statements:
            session.execute(statement.encode())
        for name in names:
            session.execute(f"ALTER EVENT TRIGGER {name} ENABLE ALWAYS".encode())


@BOTH
def test_a_column_that_got_other_values_is_loaded(databases: Any, make: Make) -> None:
    replica = make(*TABLE)
    switched_off(replica, OTHER_VALUES)
    assert replica.settle().refresh.tables.keys() == {"public.t"}
    assert replica.rows("SELECT id, v FROM t ORDER BY id") == [(1, 1007), (2, 1008)]
    replica.at_source("INSERT INTO t VALUES (3, 9)")
    assert not replica.settle().refresh.tables


def test_so_it_is_where_the_next_statement_is_recorded(make: Make) -> None:
    replica = make(*TABLE)
    switched_off(replica, OTHER_VALUES)
    replica.at_source("ALTER TABLE t ADD w int")
    assert replica.settle().refresh.tables.keys() == {"public.t"}


def test_so_it_is_without_event_triggers(make: Make) -> None:
    replica = make(*TABLE, source={"ddl": "relations"})
    replica.at_source(OTHER_VALUES)
    assert replica.settle().refresh.tables.keys() == {"public.t"}


@pytest.mark.parametrize("statement", ["VACUUM FULL t", "CLUSTER t USING t_pkey", "TRUNCATE t"])
def test_another_file_alone_loads_nothing(make: Make, statement: str) -> None:
    replica = make(*TABLE)
    switched_off(replica, statement, "INSERT INTO t VALUES (5, 5)")
    assert not replica.settle().refresh.tables


def test_a_recorded_statement_is_carried_out_and_loads_nothing(make: Make) -> None:
    replica = make(*TABLE)
    replica.at_source("ALTER TABLE t ALTER v TYPE bigint", "VACUUM FULL t", "ALTER TABLE t ALTER v SET STATISTICS 7")
    assert not replica.settle().refresh.tables
    replica.at_source("ALTER TABLE t ALTER v SET STATISTICS 8", "VACUUM FULL t")
    assert not replica.settle().refresh.tables


def test_what_a_capture_found_is_not_forgotten_when_the_cycle_ends_there(make: Make) -> None:
    replica = make(*TABLE)
    switched_off(replica, OTHER_VALUES)
    replica.capture()
    replica.capture()
    assert replica.settle().refresh.tables.keys() == {"public.t"}
