"""What is in flight is no difference, and what really differs is found among it."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.compare.report import Comparison, Kind, TableReport
from airflow_ddlrepl.errors import ControlStop
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import BOTH, Make

GOODS = (
    "CREATE TABLE goods (id int PRIMARY KEY, name text, price numeric)",
    "INSERT INTO goods SELECT i, 'good ' || i, i FROM generate_series(1, 9000) i",
)


def one(found: Comparison) -> TableReport:
    (table,) = found.tables
    return table


def named(found: Comparison) -> list[tuple[Kind, str, tuple[str, ...]]]:
    return [(row.kind, row.key, row.columns) for row in one(found).rows]


@BOTH
@pytest.mark.parametrize("is_captured", [False, True], ids=["uncaptured", "captured"])
def test_what_really_differs_is_found_among_thousands_of_rows_in_flight(make: Make, is_captured: bool) -> None:
    replica = make(*GOODS)
    replica.at_target(
        "DELETE FROM goods WHERE id = 17",
        "UPDATE goods SET name = 'odd' WHERE id = 4000",
        "INSERT INTO goods VALUES (99999, 'extra', 1)",
    )
    replica.at_source(
        "INSERT INTO goods SELECT i, 'new', i FROM generate_series(10001, 14000) i",
        "UPDATE goods SET price = price + 1 WHERE id BETWEEN 1000 AND 3000",
        "DELETE FROM goods WHERE id BETWEEN 5000 AND 5999",
        "UPDATE goods SET id = -id WHERE id BETWEEN 7000 AND 7009",
    )
    if is_captured:
        replica.capture()
    found = replica.compare()
    assert named(found) == [
        (Kind.MISSING, "(17)", ()),
        (Kind.DIFFERENT, "(4000)", ("name",)),
        (Kind.EXTRA, "(99999)", ()),
    ]
    assert (found.differences, one(found).in_flight) == (3, 4000 + 2001 + 1000 + 20)
    assert f"this holds for {found.position} of the source's log (target warehouse at " in found.text()
    assert "7021 rows are not at the target yet" in found.text() and "3 differences, 7021 not at" in found.text()
    assert (found.to_json()["in_flight"], found.to_json()["position"]) == (7021, found.position)
    replica.replicate()
    assert named(replica.compare()) == named(found)
    assert one(replica.compare()).is_settled


def test_nothing_but_rows_in_flight_is_equal(make: Make) -> None:
    replica = make(*GOODS)
    replica.at_source("UPDATE goods SET name = 'x' WHERE id < 10")
    found = replica.compare()
    assert (found.differences, found.in_flight, found.is_equal) == (0, 9, True)
    replica.at_source("UPDATE goods SET name = 'y' WHERE id = 20")
    replica.capture()
    replica.at_source("UPDATE goods SET name = 'y' WHERE id = 21")
    assert replica.compare().in_flight == 11
    replica.settle()


def test_a_row_that_really_differs_and_is_in_flight_too(make: Make) -> None:
    """The log brings the whole row: that it is wrong until then is no difference, and afterwards it is right."""
    replica = make(*GOODS)
    replica.at_target("UPDATE goods SET name = 'odd' WHERE id IN (1, 2)")
    replica.at_source("UPDATE goods SET price = 0 WHERE id = 1")
    assert named(replica.compare()) == [(Kind.DIFFERENT, "(2)", ("name",))]
    replica.replicate()
    assert named(replica.compare()) == [(Kind.DIFFERENT, "(2)", ("name",))]


def test_rows_that_the_log_expects_otherwise(make: Make) -> None:
    """The log changes a row that is missing, and inserts one that somebody has inserted at the target."""
    replica = make(*GOODS)
    replica.at_target(
        "DELETE FROM goods WHERE id IN (1, 2)", "INSERT INTO goods VALUES (10001, 'x', 1), (10002, 'x', 1)"
    )
    replica.at_source(
        "UPDATE goods SET price = 0 WHERE id IN (1, 3)",
        "DELETE FROM goods WHERE id = 4",
        "INSERT INTO goods VALUES (4, 'again', 1), (10001, 'new', 1), (10003, 'new', 1)",
        "UPDATE goods SET price = 0 WHERE id IN (10001, 10003)",
        "UPDATE goods SET id = 10002 WHERE id = 2",
    )
    for _ in range(2):
        found = replica.compare()
        assert [(row.kind, row.key) for row in one(found).rows] == [
            (Kind.MISSING, "(1)"),
            (Kind.DIFFERENT, "(10001)"),
            (Kind.DIFFERENT, "(10002)"),
        ]
        assert found.in_flight == 3
        replica.capture()


def test_a_row_that_a_load_has_brought_already_is_no_row_in_flight(make: Make) -> None:
    replica = make(*GOODS)
    replica.at_source("UPDATE goods SET name = 'x' WHERE id = 1")
    replica.refresh("public.goods")
    replica.at_target("DELETE FROM goods WHERE id = 1")
    assert named(replica.compare()) == [(Kind.MISSING, "(1)", ())]


def test_truncate(make: Make) -> None:
    replica = make(*GOODS)
    replica.at_source("TRUNCATE goods", "INSERT INTO goods VALUES (1, 'first', 1)")
    found = replica.compare()
    assert (found.differences, one(found).in_flight) == (0, 9000)
    replica.settle()


KEYS: dict[str, tuple[str, str, str, str]] = {
    "several columns": ("a int, b text, PRIMARY KEY (b, a)", "i, '(\"' || i || E'\\\\ ,'", "a", "-a"),
    "numeric": ("a numeric PRIMARY KEY", "i + 0.50", "a", "-a"),
    "moment": (
        "a timestamptz PRIMARY KEY",
        "timestamptz '2026-01-01 00:00:00.5' + i * interval '1 h'",
        "a",
        "a + '9 y'",
    ),
    "date": ("a date PRIMARY KEY", "date '2026-01-01' + i", "a", "a - 999"),
    "uuid": ("a uuid PRIMARY KEY", "md5(i::text)::uuid", "a", "md5(a::text)::uuid"),
    "bytes": ("a bytea PRIMARY KEY", "decode(md5(i::text), 'hex')", "a", "a || '\\x01'"),
    "truth": ("a int, b bool, PRIMARY KEY (a, b)", "i, i % 2 = 0", "b", "NOT b"),
    "enum": ("a mood, b int, PRIMARY KEY (a, b)", "'good', i", "a", "'b ad'"),
    "domain": ("a positive PRIMARY KEY", "i", "a", "a + 5000"),
    "padded": ("a char(9) PRIMARY KEY", "i", "a", "trim(a) || 'x'"),
    "float": ("a float8 PRIMARY KEY", "i / 3.0", "a", "a + 1e6"),
}


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_all_kinds(make: Make, kind: str) -> None:
    columns, values, column, changed = KEYS[kind]
    replica = make(
        "CREATE TYPE mood AS ENUM ('good', 'b ad')",
        "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
        f"CREATE TABLE k (n int, v text, {columns})",
        f"INSERT INTO k SELECT i, 'v', {values} FROM generate_series(1, 30) i",
    )
    replica.at_target("DELETE FROM k WHERE n = 30", "UPDATE k SET v = 'odd' WHERE n = 29")
    replica.at_source(
        "UPDATE k SET v = 'x' WHERE n = 1",
        "DELETE FROM k WHERE n = 2",
        f"UPDATE k SET {column} = {changed} WHERE n BETWEEN 3 AND 4",
        f"INSERT INTO k SELECT i, 'v', {values} FROM generate_series(31, 40) i",
    )
    for _ in range(2):
        found = one(replica.compare())
        assert (found.missing, found.extra, found.different, found.in_flight) == (1, 0, 1, 1 + 1 + 4 + 10), found
        replica.capture()


def test_a_table_without_a_key(make: Make) -> None:
    replica = make(
        "CREATE TABLE bag (n int, v text)", "INSERT INTO bag SELECT i, repeat('v', i % 5) FROM generate_series(1, 30) i"
    )
    replica.at_target("DELETE FROM bag WHERE n = 30")
    replica.at_source(
        "UPDATE bag SET v = NULL WHERE n = 1", "DELETE FROM bag WHERE n = 2", "INSERT INTO bag VALUES (99, '')"
    )
    for _ in range(2):
        found = one(replica.compare())
        assert (found.missing, found.extra, found.in_flight) == (1, 0, 4)
        replica.capture()
    replica.replicate()
    assert replica.compare().differences == 1


@pytest.mark.parametrize("is_captured", [False, True], ids=["uncaptured", "captured"])
def test_a_schema_change_in_flight(make: Make, is_captured: bool) -> None:
    replica = make(*GOODS)
    replica.at_target("DELETE FROM goods WHERE id = 17")
    replica.at_source(
        "ALTER TABLE goods ADD stock int DEFAULT 5",
        "UPDATE goods SET stock = 6, name = 'x' WHERE id = 1",
        "ALTER TABLE goods ALTER price TYPE text USING price || ' EUR'",
        "CREATE TABLE late (id int PRIMARY KEY)",
    )
    if is_captured:
        replica.capture()
    found = replica.compare()
    goods = next(table for table in found.tables if table.table.name == "goods")
    assert (goods.missing, goods.different, goods.in_flight) == (1, 0, 1)
    assert goods.on_their_way == (
        "a change of column price: its values were not compared",
        "column price has type numeric, at the source text",
        "column stock is not known at the target yet",
    )
    late = next(table for table in found.tables if table.table.name == "late")
    assert (late.differences, len(late.on_their_way)) == (0, 1)
    replica.replicate()
    replica.check_equal()  # the change of the type has loaded the table again


def test_values_that_a_narrower_type_changes_are_not_called_equal(make: Make) -> None:
    """The target's wider type holds them, so nothing of its shape differs; a person is asked before the change."""
    replica = make(*GOODS, ask_before=["narrow"])
    replica.at_source("ALTER TABLE goods ALTER name TYPE varchar(4) USING left(name, 4)")
    with pytest.raises(ControlStop):
        replica.replicate()
    found = replica.compare()
    assert (found.differences, one(found).is_settled) == (0, False)
    assert "public.goods: not at the target yet: a change of column name: its values were not compared" in found.text()


def test_what_somebody_did_to_the_targets_table_is_no_schema_change_in_flight(make: Make) -> None:
    replica = make(*GOODS)
    replica.at_source("ALTER TABLE goods ADD stock int")
    replica.at_target("ALTER TABLE goods DROP COLUMN price")
    found = one(replica.compare())
    assert found.structure == ("column price is missing at the target",)


def test_the_repository_knows_what_was_found_of_each_table(make: Make) -> None:
    replica = make(*GOODS, "CREATE TABLE other (id int PRIMARY KEY)")
    replica.at_target("DELETE FROM goods WHERE id = 17")
    whole = replica.compare()
    replica.at_source("UPDATE goods SET name = 'x' WHERE id < 10", "INSERT INTO other VALUES (1)")
    with flow.open_channel(replica.file, InProcess()) as run:
        some = flow.compare(run, ["public.goods"])
        found = {one["table"]: one for one in run.repository.compared_tables("shop").values()}
    goods, other = found["public.goods"], found["public.other"]
    assert (goods["target"], goods["position"], other["position"]) == ("warehouse", some.position, whole.position)
    assert (goods["differences"], goods["missing"], goods["in_flight"], other["differences"]) == (1, 1, 9, 0)
    assert goods["found"] == ["public.goods: missing row (17)", "public.goods: 9 rows are not at the target yet"]
    assert goods["compared"] > other["compared"] and "found" not in other


def test_a_change_of_the_key_in_flight(make: Make) -> None:
    replica = make(*GOODS)
    replica.at_source("ALTER TABLE goods ALTER id TYPE text USING 'n' || id", "INSERT INTO goods VALUES ('x', 'x', 1)")
    found = replica.compare()
    assert (found.differences, found.is_equal) == (0, bool(one(found).on_their_way) and not one(found).undecided)
    replica.settle()


def test_log_that_is_lost_leaves_it_open(make: Make, tmp_path: Any) -> None:
    replica = make(*GOODS)
    replica.at_source("UPDATE goods SET name = 'x' WHERE id = 1")
    replica.capture()
    for file in (tmp_path / "trail").rglob("*.json"):
        file.unlink()
    found = replica.compare()
    assert (found.differences, found.is_equal) == (0, False)
    assert "can't tell which rows differ" in found.text() and "TRL-1" in found.text()
