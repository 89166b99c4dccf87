"""A repair writes the rows that differ, by their keys, and no other one; what the log brings is left to the log."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.compare.report import Comparison
from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.flow.comparing import repair as module
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.conformance import places
from tests.conformance.conftest import MakePlace
from tests.conformance.runs import run_and_die
from tests.conftest import Databases

ORDERS = TableName("public", "orders")
NOTES = {str(i): f"order {i}" for i in range(1, 31)}
WRONG = {**{i: note for i, note in NOTES.items() if i not in ("7", "9")}, "8": "odd", "10": "odd", "99": "of nobody"}
GOODS = (
    "create table goods (at timestamptz, part text, id uuid, price numeric(10,2), share float8, data bytea, doc jsonb,"
    " many int[], old text, primary key (at, part, id))",
    "insert into goods select timestamptz '2024-01-01 10:00+02' + i * interval '1 hour', p, gen_random_uuid(), i, -0.0,"
    " '\\xff', '{\"a\": 1}', '{1,2}', 'of row ' || i || '.00'"
    " from generate_series(1, 20) i, unnest(array['', 'a,b', 'b\"(c)', 'NULL']) p",
)


def repair(place: places.Place) -> Comparison:
    with flow.open_channel(place.replica.file, InProcess()) as run, place.of_nobody():
        found: Comparison = flow.repair(run)
        return found


@pytest.fixture
def by_key(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> places.Place:
    """A place of an engine that writes single rows; nothing is refreshed there."""

    def refresh(*given: object) -> None:
        raise AssertionError(f"the table was loaded whole: {given}")

    monkeypatch.setattr(module, "refresh", refresh)
    place = make_place()
    if place.engine == "files":
        pytest.skip("it writes no single rows")
    return place


def test_rows_that_differ_are_written_and_told(by_key: places.Place, caplog: pytest.LogCaptureFixture) -> None:
    by_key.start()
    by_key.write(ORDERS, WRONG)
    with caplog.at_level(logging.INFO, "ddlrepl"):
        found = repair(by_key)
    assert (found.repaired, found.unrepaired, found.differences) == (("public.orders",), (), 0)
    assert "repaired public.orders at target warehouse, " in caplog.text
    by_key.check()


def test_the_log_brings_what_is_in_flight(by_key: places.Place) -> None:
    """Row 10 differs and the log changes it; row 9 is missing, and the log's update of it finds none."""
    by_key.start()
    by_key.write(ORDERS, WRONG)
    by_key.replica.at_source(
        "update orders set note = 'new' where id in (9, 10, 11)", "delete from orders where id = 12"
    )
    by_key.replica.at_source("insert into orders values (50, 'newer')")
    found = repair(by_key)
    assert found.differences == 0 and found.in_flight, found
    by_key.settle()
    by_key.replica.check_equal()


@pytest.mark.req("XR-09")
def test_a_repair_that_is_killed_is_made_good(by_key: places.Place) -> None:
    by_key.start()
    by_key.write(ORDERS, WRONG)
    assert run_and_die("repair", by_key.replica.file, "repair.transaction")
    assert by_key.replica.compare().differences == 5
    assert repair(by_key).differences == 0
    by_key.settle()


def test_every_key_of_a_duckdb_file_is_found(
    databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are there twice become one, and a column that the source has no more keeps its values."""
    monkeypatch.setattr(module, "refresh", None)
    place = places.duckdb(tmp_path, databases.source, adapt_ddl=[{"keep_existing_structure": True}])
    place.replica.at_source(*GOODS)
    place.replica.activate()
    place.replica.at_source("alter table goods drop column old")
    place.replica.settle()
    with session(f"duckdb://{tmp_path}/target.duckdb") as connection:
        connection.execute("USE public")
        connection.execute("INSERT INTO goods FROM goods WHERE price IN (3, 4)")
        connection.execute("DELETE FROM goods WHERE price = 5 AND part <> 'NULL'")
        connection.execute("UPDATE goods SET share = 7, many = '{9}', data = NULL WHERE price IN (6, 7)")
        connection.execute("UPDATE goods SET part = part || '\\' WHERE price = 8")
    (found,) = place.replica.compare().tables
    assert (found.missing, found.extra, found.different) == (3 + 4, 8 + 4, 8)
    place.replica.at_source("update goods set price = 100 where price = 7 and part <> 'NULL'")
    assert place.replica.compare().tables[0].in_flight == 3
    assert repair(place).differences == 0
    with session(f"duckdb://{tmp_path}/target.duckdb") as connection:
        assert connection.execute("SELECT count(*) FROM public.goods WHERE old = 'of row ' || price").fetchall() == [
            (73,)
        ]
    place.replica.settle()


def test_a_row_that_the_target_refuses_stays_and_is_told(
    by_key: places.Place, caplog: pytest.LogCaptureFixture
) -> None:
    by_key.start()
    by_key.write(ORDERS, WRONG)
    with flow.open_channel(by_key.replica.file, InProcess()) as run:
        (table_id,) = (i for i, one in run.target("warehouse").state().table_states.items() if one.name == ORDERS)
    by_key.rule(table_id, "order 7")
    found = repair(by_key)
    assert found.unrepaired == ("public.orders",)
    assert "TGT-182" in caplog.text and "ddlrepl refresh --table" in caplog.text
    by_key.rule(table_id, "")
    assert repair(by_key).differences == 0
