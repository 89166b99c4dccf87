"""A repair writes what really differs, leaves to the log what the log brings, and undoes no newer row."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.compare.report import Comparison
from airflow_ddlrepl.errors import LockHeld
from airflow_ddlrepl.flow.comparing import repair as module
from airflow_ddlrepl.ports.work import InProcess
from tests.flow.comparing.test_beside_a_writer import going_on, written
from tests.support.replica import BOTH, Make, Replica

GOODS = (
    "CREATE TABLE goods (id int PRIMARY KEY, name text, price numeric)",
    "INSERT INTO goods SELECT i, 'good ' || i, i FROM generate_series(1, 9000) i",
)
WRONG = (
    "DELETE FROM goods WHERE id IN (17, 18)",
    "UPDATE goods SET name = 'odd' WHERE id IN (4000, 4001)",
    "INSERT INTO goods VALUES (99999999, 'extra', 1)",
)


def repair(replica: Replica, *tables: str) -> Comparison:
    with flow.open_channel(replica.file, InProcess()) as run:
        found: Comparison = flow.repair(run, tables)
        return found


def places(replica: Replica) -> list[tuple[Any, ...]]:
    """Where the rows lie: a row that is written again lies elsewhere."""
    return replica.rows(
        "SELECT id, ctid::text, xmin::text FROM goods WHERE id NOT IN (17, 18, 4000, 99999999) ORDER BY 1"
    )


@BOTH
def test_only_what_the_log_does_not_bring_is_written(make: Make) -> None:
    replica = make(*GOODS)
    replica.at_target(*WRONG)
    replica.at_source(
        "UPDATE goods SET price = 0 WHERE id IN (18, 4001, 5000)",
        "INSERT INTO goods VALUES (10001, 'new', 1)",
        "DELETE FROM goods WHERE id = 6000",
        "UPDATE goods SET id = -id WHERE id = 7000",
    )
    replica.capture()
    replica.at_source("INSERT INTO goods VALUES (10002, 'new', 1)")
    before = places(replica)
    found = repair(replica)
    assert (found.repaired, found.differences, found.in_flight) == (("public.goods",), 0, 7)
    assert places(replica) == before
    assert replica.rows("SELECT id, name, price FROM goods WHERE id IN (17, 18, 4000, 99999999) ORDER BY 1") == [
        (17, "good 17", 17),
        (18, "good 18", 0),
        (4000, "good 4000", 4000),
    ]
    replica.settle()


def test_rows_that_change_while_they_are_repaired_come_by_the_log(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the comparison and the repair the source deletes, changes and inserts rows that differ."""
    replica = make(*GOODS)
    replica.at_target("UPDATE goods SET name = 'odd' WHERE id IN (1, 2, 3)", "INSERT INTO goods VALUES (10001, 'x', 1)")
    write = module._write_rows

    def later(*given: Any) -> Any:
        replica.at_source(
            "DELETE FROM goods WHERE id = 1",
            "UPDATE goods SET price = 0 WHERE id = 2",
        )
        return write(*given)

    monkeypatch.setattr(module, "_write_rows", later)
    found = repair(replica)
    assert (found.differences, found.in_flight) == (0, 2)
    assert replica.rows("SELECT id, name, price FROM goods WHERE id IN (1, 2, 3, 10001) ORDER BY 1") == [
        (1, "odd", 1),
        (2, "odd", 2),
        (3, "good 3", 3),
    ]
    replica.settle()


def test_beside_a_writer_and_cycles(make: Make) -> None:
    replica = make(*GOODS, "CREATE TABLE still (id int PRIMARY KEY)", "INSERT INTO still VALUES (1), (2)")
    replica.at_target("DELETE FROM goods WHERE id = 17", *WRONG[1:], "DELETE FROM still WHERE id = 2")

    def cycle() -> None:
        with suppress(LockHeld):  # while the repair writes
            replica.replicate()

    with written(replica), going_on(cycle):
        found = repair(replica)
    assert (set(found.repaired), found.differences) == ({"public.goods", "public.still"}, 0), found.text()
    replica.settle()


def test_several_columns_of_the_key(make: Make) -> None:
    replica = make(
        "CREATE TABLE k (a timestamptz, b text, v numeric(9, 2), twice numeric GENERATED ALWAYS AS (v * 2) STORED,"
        " n bigint GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (b, a))",
        "INSERT INTO k SELECT timestamptz '2026-01-01' + i * interval '1 h', 'x, \"' || i, i"
        " FROM generate_series(1, 50) i",
    )
    replica.at_target("UPDATE k SET v = 0 WHERE n = 1", "DELETE FROM k WHERE n = 2")
    assert repair(replica).repaired == ("public.k",)
    assert replica.rows("SELECT n, v, twice FROM k WHERE n < 4 ORDER BY 1") == [
        (1, 1, 2),
        (2, 2, 4),
        (3, 3, 6),
    ]


def test_rows_of_a_table_that_its_applications_write_at_the_target(make: Make) -> None:
    conflicts = [{"tables": "*", "update_row_exists": "overwrite", "update_row_missing": "overwrite"}]
    replica = make(*GOODS, conflicts=conflicts)
    replica.at_target("UPDATE goods SET name = 'newer' WHERE id = 1")
    found = repair(replica)
    assert (found.repaired, found.unrepaired, found.differences) == ((), ("public.goods",), 1)
    assert replica.rows("SELECT name FROM goods WHERE id = 1") == [("newer",)]


def test_a_trigger_at_the_target_that_prevents_it(make: Make) -> None:
    replica = make(*GOODS)
    replica.at_target(
        "CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "DELETE FROM goods WHERE id = 17",
        "CREATE TRIGGER stop BEFORE INSERT ON goods FOR EACH ROW EXECUTE FUNCTION stop()",
    )
    assert repair(replica).repaired == ("public.goods",)  # no trigger of the target fires


def test_a_rule_of_the_target_that_takes_rows(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """What can't be written one by one stays as it is, and is told."""
    replica = make(*GOODS)
    replica.at_target("DELETE FROM goods WHERE id = 17", "ALTER TABLE goods ADD CHECK (id <> 17)")
    found = repair(replica)
    assert (found.repaired, found.unrepaired) == ((), ("public.goods",))
    assert "TGT-182" in caplog.text and "public.goods still differs after the repair" in found.text()
