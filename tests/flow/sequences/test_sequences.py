"""The source's sequences at a target: created, never behind, and drawn from by the same columns."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.replica import BOTH, Make, Replica

TABLES = """
CREATE TABLE orders (id serial PRIMARY KEY, number int GENERATED ALWAYS AS IDENTITY, note text);
CREATE SEQUENCE numbers INCREMENT BY 5 START WITH 100;
CREATE SEQUENCE untouched;
"""


def value(replica: Replica, name: str) -> Any:
    """The number that the target's sequence gave last, or gives next where it has given none."""
    last, is_called = replica.rows(f"SELECT last_value, is_called FROM {name}")[0]
    return last if is_called else (last, "next")


@BOTH
@pytest.mark.req("HVR-D-89")
def test_sequences_are_at_the_target_and_never_behind(make: Make) -> None:
    replica = make(TABLES, db_sequence=True)
    replica.at_source("INSERT INTO orders (note) SELECT 'x' FROM generate_series(1, 7)", "SELECT nextval('numbers')")
    replica.settle()
    assert value(replica, "orders_id_seq") == 7
    assert value(replica, "orders_number_seq") == 7
    assert value(replica, "numbers") == 100
    assert value(replica, "untouched") == (1, "next")
    replica.at_source("CREATE SEQUENCE later", "SELECT nextval('later'), nextval('numbers')")
    replica.settle()
    assert value(replica, "later") == 1
    assert value(replica, "numbers") == 105


@pytest.mark.req("HVR-D-89")
def test_a_channel_without_the_setting_has_no_sequences(make: Make) -> None:
    replica = make(TABLES)
    replica.at_source("INSERT INTO orders (note) VALUES ('x')", "SELECT nextval('numbers')")
    replica.settle()
    found = replica.rows("SELECT relname FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace")
    assert found == [("orders_number_seq",)]
    assert value(replica, "orders_number_seq") == (1, "next")


def test_an_insert_at_the_target_draws_as_at_the_source(make: Make) -> None:
    replica = make(TABLES, db_sequence=True)
    replica.at_source("INSERT INTO orders (note) SELECT 'x' FROM generate_series(1, 7)")
    replica.settle()
    replica.at_target("INSERT INTO orders (note) VALUES ('after the cut-over')")
    assert replica.rows("SELECT id, number FROM orders WHERE note LIKE 'after%'") == [(8, 8)]
    owner = "SELECT pg_get_serial_sequence('orders', 'id'), pg_get_serial_sequence('orders', 'number')"
    assert replica.rows(owner) == [("public.orders_id_seq", "public.orders_number_seq")]
