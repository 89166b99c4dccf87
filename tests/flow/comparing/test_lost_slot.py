"""Without the slot nobody can tell what is in flight, and nothing that differs is called so."""

from __future__ import annotations

import psycopg
import pytest

from tests.support.replica import BOTH, Make, Replica

GOODS = (
    "CREATE TABLE goods (id int PRIMARY KEY, v text)",
    "INSERT INTO goods SELECT i, 'v' FROM generate_series(1, 60) i",
)


def drop_slot(replica: Replica, *, made_again: bool) -> None:
    with psycopg.connect(replica.source, autocommit=True) as connection:
        query = "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"
        ((name,),) = connection.execute(query).fetchall()
        connection.execute("SELECT pg_drop_replication_slot(%s)", [name])
        replica.at_source("UPDATE goods SET v = 'in no log' WHERE id < 9")
        if made_again:
            connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [name])


@BOTH
@pytest.mark.parametrize("made_again", [False, True], ids=["dropped", "made again by somebody"])
def test_rows_of_the_log_that_is_gone_are_not_in_flight(make: Make, made_again: bool) -> None:
    replica = make(*GOODS)
    replica.settle()
    drop_slot(replica, made_again=made_again)
    replica.at_source("UPDATE goods SET v = 'later' WHERE id < 3")
    found = replica.compare()
    (why,) = found.undecided.values()
    assert ("SRC-102" in why or "SRC-141" in why) and (found.in_flight, found.is_equal) == (0, False), found.text()
    replica.activate()
    replica.settle()
    replica.at_target("DELETE FROM goods WHERE id = 50")
    assert (replica.compare().differences, replica.compare().in_flight) == (1, 0)
