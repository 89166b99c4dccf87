"""A target may have a row for each change of a table (`history`), instead of the table's rows or beside them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table_state import TableStatus
from tests.conformance.conftest import LAKE, MakePlace
from tests.conformance.places import Place
from tests.conformance.runs import run_and_die
from tests.support.lakes.outsider import somebody
from tests.support.lakes.reader import Beside, rows_at

ORDERS, CHANGES = TableName("public", "orders"), TableName("public", "orders_changelog")
START = (
    "create table orders (id int primary key, note text)",
    "insert into orders select i, 'order ' || i from generate_series(1, 5) i",
)
KINDS = ["postgres", "duckdb", pytest.param("iceberg", marks=LAKE)]
POINTS = (
    *("integrate.staged", "integrate.rows", "integrate.altered", "integrate.transaction", "integrate.committed"),
    *("integrate.rows:2", "integrate.altered:2", "record.repository"),
)
PAGE = Path(__file__).parents[2] / "docs" / "lakehouse.md"


def activated(place: Place, history: str, *more: str) -> str:
    """An active channel whose target has this history; its location."""
    file = place.replica.file
    data = yaml.safe_load(file.read_text())
    data["targets"][0]["history"] = history
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    place.replica.at_source(*START, *more)
    place.replica.activate()
    return str(data["targets"][0]["location"])


def folded(columns: list[str], rows: Any) -> dict[str, dict[str, Any]]:
    """The rows that a table has by its changes, by key."""
    found: dict[str, dict[str, Any]] = {}
    changes = [dict(zip(columns, row, strict=True)) for row in rows]
    order = lambda one: (int(one["_position"]), int(one["_sequence"]), one["_operation"] == "delete")  # noqa: E731
    for one in sorted(changes, key=order):
        if one["_operation"] == "truncate":
            found.clear()
        elif one["_operation"] == "delete":
            found.pop(one["id"], None)
        else:
            found[one["id"]] = one
    return found


def is_whole(tables: dict[TableName, str]) -> bool:
    """The changes of a table lead to the rows that it has, in each state that a reader sees."""
    if CHANGES not in tables or ORDERS not in tables:
        return True
    (columns, rows), changes = rows_at(tables[ORDERS]), folded(*rows_at(tables[CHANGES]))
    if not changes:
        return True
    mirror = {row[columns.index("id")]: dict(zip(columns, row, strict=True)) for row in rows}
    return mirror == {key: {name: one[name] for name in columns} for key, one in changes.items()}


@pytest.mark.parametrize("make_place", KINDS, indirect=True)
def test_a_target_has_a_row_for_each_change(make_place: MakePlace) -> None:
    place = make_place()
    activated(place, "changelog")
    place.replica.at_source(
        "update orders set note = 'new' where id = 1",
        "delete from orders where id = 2",
        "update orders set id = 9 where id = 3",
    )
    place.replica.replicate()
    rows = place.read(ORDERS) or []
    found = sorted((row["id"], row["note"], row["_operation"]) for row in rows if row["_operation"] != "refresh")
    assert found == [
        ("1", "new", "update"),
        ("2", "order 2", "delete"),
        ("3", "order 3", "delete"),
        ("9", "order 3", "update"),
    ]
    assert all(row["_position"] and row["_sequence"] and row["_committed"] for row in rows)


@pytest.mark.parametrize("make_place", ["postgres", "duckdb"], indirect=True)
def test_rows_and_changes_in_one_moment_are_refused_where_a_target_can_not_show_them(make_place: MakePlace) -> None:
    with pytest.raises(Unsupported, match=r"ADP-164.*one moment"):
        activated(make_place(), "both")


@pytest.mark.parametrize("make_place", KINDS[-1:], indirect=True)
def test_rows_and_their_changes_are_seen_in_one_moment(make_place: MakePlace) -> None:
    """Also schema changes, a TRUNCATE, and a load; columns that the source drops stay among the changes."""
    place = make_place()
    location = activated(place, "both")
    with Beside(location) as beside:
        place.replica.at_source("insert into orders values (6, 'six')", "update orders set note = 'x' where id = 1")
        place.replica.replicate()
        place.replica.at_source(
            "begin; delete from orders where id = 2; alter table orders add amount int default 7;"
            " insert into orders values (7, 'seven', 70); alter table orders rename note to remark;"
            " update orders set remark = 'last' where id = 3; commit",
        )
        place.replica.replicate()
        place.replica.at_source("alter table orders drop amount", "insert into orders values (8, 'eight')")
        place.replica.replicate()
        place.check()
        place.replica.at_source("truncate orders", "insert into orders values (1, 'again')")
        place.replica.replicate()
        place.check()
    assert beside.all_at_once(is_whole) >= 4
    changes = place.read(CHANGES) or []
    assert {row["amount"] for row in changes if row["id"] == "7"} == {"70"}
    place.replica.refresh("public.orders")
    place.replica.check_equal()
    assert len(place.read(CHANGES) or []) > len(changes)
    with place.of_nobody():
        periods = scd2(location)
    assert [row[1:] for row in periods if row[0] == 1][-2:] == [("again", True, False), ("again", False, True)]
    assert [row[1:] for row in periods if row[0] == 3] == [("order 3", True, False), ("last", True, False)]


@pytest.mark.parametrize("make_place", KINDS[-1:], indirect=True)
def test_runs_that_are_killed_leave_rows_and_their_changes_at_one_moment(make_place: MakePlace) -> None:
    """At each fail point that such a run comes to, which brings rows and a schema change."""
    place = make_place()
    location = activated(place, "both")
    with Beside(location) as beside:
        for number, point in enumerate(POINTS, 20):
            place.replica.at_source(
                f"begin; insert into orders values ({number}, 'new'); alter table orders add c{number} int default 1;"
                f" update orders set note = '{point}' where id < 3; delete from orders where id = {number - 1}; commit",
            )
            assert run_and_die("replicate", place.replica.file, point), f"no run comes to {point}"
        place.settle()
    assert beside.all_at_once(is_whole) >= 3, "the start, and two runs that were killed when their windows were seen"


def scd2(location: str) -> list[tuple[Any, ...]]:
    """What the query of the page gives: id, remark, has it an end, is it current."""
    (query,) = re.findall(r"```sparksql\n(WITH .*?is_current.*?)```", PAGE.read_text(), re.DOTALL)
    spark = somebody(location)
    spark.sql(f"CREATE VIEW lake.public.orders_periods AS {query}")
    rows = "SELECT id, remark, valid_to IS NOT NULL, is_current FROM lake.public.orders_periods ORDER BY valid_from"
    return [tuple(row) for row in spark.sql(rows).collect()]


@pytest.mark.parametrize("make_place", KINDS[-1:], indirect=True)
def test_schema_changes_leave_the_values_of_earlier_changes(make_place: MakePlace) -> None:
    """A column whose values a lake can't convert is loaded again under its name; one comes again after it has gone."""
    place = make_place()
    activated(place, "changelog", "alter table orders add at timestamp default '2026-01-01'")
    place.replica.at_source("update orders set at = '2026-02-02' where id = 1")
    place.replica.replicate()
    place.replica.at_source("alter table orders alter at type text", "insert into orders values (6, 'six', 'noon')")
    place.replica.replicate()
    place.replica.replicate()
    rows = place.read(ORDERS) or []
    assert {row["at_kept"] for row in rows if row["_operation"] == "update"} == {"2026-02-02 00:00:00"}
    assert {row["at"] for row in rows if row["id"] == "6"} == {"noon"}
    place.replica.at_source("alter table orders drop note", "delete from orders where id = 2")
    place.replica.replicate()
    assert {row["note"] for row in place.read(ORDERS) or [] if row["id"] == "1"} == {"order 1"}
    place.replica.at_source("alter table orders add note int default 5", "insert into orders values (7, 'x', 6)")
    place.replica.replicate()
    place.replica.replicate()
    found = [(row["note"], row["note_kept"]) for row in place.read(ORDERS) or [] if row["id"] in ("1", "7")]
    assert ("6", None) in found and ("5", "order 1") in found
    assert set(place.states().values()) == {TableStatus.LIVE}
