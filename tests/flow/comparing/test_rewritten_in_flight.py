"""Statements that give rows other values, while no row stands in the log: on their way, too, and never for ever."""

from __future__ import annotations

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.compare.report import TableReport
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Make, Replica

GOODS = (
    "CREATE TYPE mood AS ENUM ('good', 'bad')",
    "CREATE TABLE goods (id int PRIMARY KEY, price int, m mood, name text)",
    "INSERT INTO goods SELECT i, i, 'good', 'n' FROM generate_series(1, 60) i",
)
DAMAGE = "DELETE FROM goods WHERE id = 50; UPDATE goods SET name = 'odd' WHERE id = 51"
SILENT = ["recorded", "relations", "switched off"]


def one(replica: Replica) -> TableReport:
    found: TableReport = replica.compare().tables[0]
    return found


def counts(found: TableReport) -> tuple[int, int, int, int]:
    return found.missing, found.extra, found.different, found.in_flight


def made(make: Make, how: str) -> Replica:
    """how: are statements recorded by event triggers?"""
    replica = make(*GOODS, **({"source": {"ddl": "relations"}} if how == "relations" else {}))
    replica.settle()
    if how == "switched off":
        with psycopg.connect(replica.source) as connection:
            names = [name for (name,) in connection.execute("SELECT evtname FROM pg_event_trigger")]
        replica.at_source(*(f'ALTER EVENT TRIGGER "{name}" DISABLE' for name in names))
    return replica


def repair(replica: Replica) -> None:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.repair(cycle)


@pytest.mark.parametrize("is_captured", [False, True], ids=["uncaptured", "captured"])
@pytest.mark.parametrize("how", SILENT)
def test_values_computed_anew_with_the_same_type(make: Make, how: str, is_captured: bool) -> None:
    replica = made(make, how)
    replica.at_target(DAMAGE)
    replica.at_source(
        "ALTER TABLE goods ALTER price TYPE int USING price + 1", "UPDATE goods SET name = 'x' WHERE id < 4"
    )
    if is_captured:
        replica.capture()
    found = one(replica)
    assert "other values is on its way" in found.undecided or "the next cycle loads it" in found.undecided
    assert found.different == 0 and not found.structure
    repair(replica)
    assert replica.rows("SELECT price FROM goods WHERE id = 10") == [(10,)]  # the statement is still to come
    replica.settle()
    assert replica.rows("SELECT sum(price - id), count(*) FROM goods") == [(60, 60)]


@pytest.mark.parametrize("how", SILENT)
def test_after_that_a_row_that_differs_is_one(make: Make, how: str) -> None:
    replica = made(make, how)
    replica.at_source(
        "ALTER TABLE goods ALTER price TYPE int USING price + 1", "ALTER TYPE mood RENAME VALUE 'good' TO 'fine'"
    )
    replica.settle()
    replica.at_target(DAMAGE)
    for _ in range(2):
        found = one(replica)
        assert (counts(found), found.undecided, found.on_their_way) == ((1, 0, 1, 0), "", ())
        replica.replicate()
    repair(replica)
    replica.check_equal()


def test_a_column_that_is_new_leaves_the_others_comparable(make: Make) -> None:
    replica = made(make, "recorded")
    replica.at_target(DAMAGE)
    replica.at_source("ALTER TABLE goods ADD dice float DEFAULT random()")
    assert counts(one(replica)) == (1, 0, 1, 0)


def test_a_key_that_is_computed_anew(make: Make) -> None:
    replica = made(make, "recorded")
    replica.at_source("ALTER TABLE goods ALTER id TYPE int USING -id")
    found = one(replica)
    assert (counts(found), found.is_settled) == ((0, 0, 0, 0), False)
    replica.settle()


@pytest.mark.parametrize("is_captured", [False, True], ids=["uncaptured", "captured"])
@pytest.mark.parametrize("how", SILENT)
def test_another_name_of_an_enums_value(make: Make, how: str, is_captured: bool) -> None:
    replica = made(make, how)
    replica.at_target(DAMAGE)
    replica.at_source("ALTER TYPE mood RENAME VALUE 'good' TO 'fine'")
    if is_captured:
        replica.capture()
    found = one(replica)
    assert counts(found) == (1, 0, 1, 0) and found.on_their_way == (
        "a change of column m: its values were not compared",
    )
    repair(replica)
    replica.replicate()
    repair(replica)
    replica.check_equal()
    assert replica.rows("SELECT DISTINCT m::text FROM goods") == [("fine",)]
