"""What the channel file says of rows and values holds at a target of any engine: the core does it."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from tests.conformance.conftest import MakePlace
from tests.conformance.places import Place

ORDERS = TableName("public", "orders")


def orders(place: Place, *columns: str) -> list[Any]:
    """The table at the target, by id and then by the other columns."""
    found = place.read(ORDERS)
    assert found is not None
    return sorted((tuple(row[name] for name in columns) for row in found), key=lambda row: (int(row[0] or 0), *row[1:]))


def test_rows_that_a_condition_takes_come_and_go(make_place: MakePlace) -> None:
    """Also by another key, and by a value that is not the key's."""
    place = make_place(restrict=[{"tables": "orders", "condition": "id BETWEEN 3 AND 99 AND note <> 'hidden'"}])
    place.start("create table others (id int primary key)")
    assert [row[0] for row in orders(place, "id")] == [str(i) for i in range(3, 31)]
    place.replica.at_source(
        "insert into orders values (101, 'outside'), (50, 'inside'), (51, 'hidden')",
        "update orders set note = 'hidden' where id = 3",
        "update orders set note = 'seen' where id = 51",
        "update orders set id = id + 100 where id in (4, 5)",
        "update orders set id = 99 where id = 105",
        "update orders set note = null where id = 6",
        "delete from orders where id in (1, 7)",
    )
    found = place.replica.replicate()
    assert [row[0] for row in orders(place, "id")] == [*map(str, range(8, 31)), "50", "51", "99"]
    assert orders(place, "id", "note")[-3:] == [("50", "inside"), ("51", "seen"), ("99", "order 5")]
    assert sum(found.discarded.values()) > 0


def test_a_function_gives_values_of_changes_and_loads(make_place: MakePlace) -> None:
    function = "tests.support.value_functions:masked"
    place = make_place(transform=[{"tables": "orders", "columns": "note", "function": function}])
    place.start()
    place.replica.at_source(
        "insert into orders values (40, 'secret'), (41, null)",
        "update orders set note = 'longer' where id = 1",
        "update orders set id = 42 where id = 2",
        "delete from orders where id = 3",
    )
    place.replica.replicate()
    found = dict(orders(place, "id", "note"))
    assert "2" not in found and "3" not in found
    assert [found[i] for i in ("1", "4", "40", "41", "42")] == ["l*6", "o*7", "s*6", None, "o*7"]


def test_deleted_rows_stay_and_come_again(make_place: MakePlace) -> None:
    entry = {"tables": "orders", "soft_delete": "gone", "deleted_at": "gone_at", "extra": {"by": "{operation}"}}
    place = make_place(target_tables=[entry])
    place.start()
    place.replica.at_source(
        "delete from orders where id in (1, 2)",
        "insert into orders values (2, 'again')",
        "update orders set id = 50 where id = 3",
        "update orders set note = 'new' where id = 4",
    )
    place.replica.replicate()
    place.replica.at_source("insert into orders values (1, 'late')", "delete from orders where id = 4")
    place.replica.replicate()
    found = {row[0]: row[1:] for row in orders(place, "id", "note", "gone", "by")}
    no, yes = ("f", "t") if place.engine == "files" else ("false", "true")
    assert [found[i] for i in ("1", "2", "4", "5", "50")] == [
        ("late", no, "insert"),
        ("again", no, "insert"),
        ("new", yes, "delete"),
        ("order 5", no, "refresh"),
        ("order 3", no, "update"),
    ]
    assert "3" not in found
    moments = dict(orders(place, "id", "gone_at"))
    assert moments["4"] is not None and moments["1"] is None


def test_each_change_is_a_row_of_a_history(make_place: MakePlace) -> None:
    extra = {"op": "{operation}", "pos": "{position}", "seq": "{sequence}"}
    place = make_place(target_tables=[{"tables": "orders", "time_key": True, "extra": extra}])
    place.start()
    place.replica.at_source(
        "begin; update orders set note = 'one' where id = 1; update orders set note = 'two' where id = 1; commit",
        "update orders set id = 50 where id = 2",
        "delete from orders where id = 50",
    )
    place.replica.replicate()
    assert sorted(row for row in orders(place, "id", "note", "op") if row[2] != "refresh") == [
        ("1", "one", "update"),
        ("1", "two", "update"),
        ("2", "order 2", "delete"),
        ("50", "order 2", "delete"),
        ("50", "order 2", "update"),
    ]


def test_conflicts_are_refused_by_name_where_an_engine_does_not_find_them(make_place: MakePlace) -> None:
    place = make_place(conflicts=[{"tables": "orders", "update_row_exists": "overwrite"}])
    if place.engine == "postgres":
        place.start()
        place.check()
        return
    with pytest.raises(Unsupported, match=r"ADP-194: .*does not look for conflicts") as caught:
        place.start()
    assert caught.value.table == "public.orders" and "`conflicts`" in caught.value.hint


def test_generated_columns_have_the_source_s_values_and_none_is_empty(make_place: MakePlace) -> None:
    """An engine that computes nothing gets stored ones from the log; a table with a virtual one stops, and says why."""
    place = make_place()
    place.start("create table boxes (id int primary key, a int, twice int generated always as (a * 2) stored)")
    place.replica.at_source("insert into boxes values (1, 3)", "insert into orders values (40, 'late')")
    place.replica.settle()
    place.replica.at_source(
        "update boxes set a = 5 where id = 1",
        "alter table boxes add thrice int generated always as (a * 3) stored",
        "insert into boxes values (2, 7)",
    )
    place.replica.settle()
    rows = place.read(TableName("public", "boxes")) or []
    found = sorted((row["id"], row["twice"], row["thrice"]) for row in rows)
    assert found == [("1", "10", "15"), ("2", "14", "21")]
    place.replica.at_source("alter table boxes add halved int generated always as (a / 2) virtual")
    if place.engine == "postgres":
        place.replica.settle()
        return
    place.replica.at_source("insert into orders values (41, 'later')")
    assert "column halved" in str(place.suspend())


@pytest.mark.parametrize("is_known", [True, False])
def test_changes_that_are_left_out_leave_rows_behind(make_place: MakePlace, is_known: bool) -> None:
    """Rows that a change is about may be there already, or missing: neither stops the table, and none is there twice.

    Schema changes stand among such rows; columns that only the target has keep their values.
    """
    entry = {"ignore": ["DELETE"]} if is_known else {"capture": "note <> 'hidden'"}
    place = make_place(restrict=[{"tables": "orders", **entry}])
    if place.engine == "files":
        with pytest.raises(Unsupported, match="ADP-178"):
            place.start()
        return
    place.start()
    if is_known:
        place.replica.at_source(
            "delete from orders where id < 4",
            "insert into orders values (1, 'again')",
            "insert into orders values (40, 'new'); update orders set id = 41 where id = 40",
            "update orders set note = 'changed' where id = 5",
        )
    else:
        place.replica.at_source(
            "update orders set note = 'hidden' where id in (1, 2, 3)",
            "update orders set note = 'again' where id = 1",
            "insert into orders values (40, 'hidden')",
            "update orders set note = 'new', id = 41 where id = 40",
            "update orders set note = 'changed' where id = 5",
        )
    place.replica.replicate()
    place.replica.at_source(
        "begin; update orders set note = 'more' where id = 6; alter table orders add c int default 7;"
        " update orders set c = 8 where id = 5; delete from orders where id = 1; insert into orders values (1, 'x', 9);"
        " alter table orders alter c type bigint; update orders set note = 'last' where id = 7; commit"
    )
    place.replica.replicate()
    found = {int(row["id"] or 0): (row["note"], row["c"]) for row in place.read(ORDERS) or []}
    assert len(place.read(ORDERS) or []) == len(found)
    kept = {2: ("order 2", "7"), 3: ("order 3", "7")} if is_known else {}  # a row that goes out of a condition goes
    assert {key: found[key] for key in (1, 2, 3, 5, 6, 7, 41) if key in found} == {
        **{1: ("x", "9"), **kept, 5: ("changed", "8"), 6: ("more", "7"), 7: ("last", "7")},
        41: ("new", "7"),
    }
    assert 40 not in found
