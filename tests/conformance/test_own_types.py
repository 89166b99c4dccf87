"""Columns have types of a target's own, and values that do not fit are cut, NULL, or their rows wait: at any engine."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli import commands
from airflow_ddlrepl.engines.abilities.discarded_rows import DiscardsRows
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.errors import DdlReplError, Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.conformance import places
from tests.conformance.conftest import MakePlace
from tests.conformance.lake_place import iceberg
from tests.conformance.places import Place
from tests.conftest import Databases
from tests.support.restricting import FULL, at_source, now

T = TableName("public", "t")
TABLE = (
    "create table t (id int primary key, code text default '7', n numeric, note text not null)",
    "insert into t values (1, '1', 1, 'one'), (2, 'two', 2, 'two'), (3, '3', 12345, 'three')",
)
TYPES = {"code": "int", "n": "numeric(4,1)", "note": "varchar(5)"}
KINDS: tuple[Any, ...] = (
    "postgres",
    "duckdb",
    pytest.param("iceberg", marks=[pytest.mark.xdist_group("spark"), pytest.mark.timeout(900)]),
)


@pytest.fixture
def place_of(request: pytest.FixtureRequest, databases: Databases, tmp_path: Path) -> Any:
    """A function that gives an active channel into a target of a kind, with tables and sections."""

    def make(kind: str, tables: tuple[str, ...] = TABLE, **more: Any) -> Place:
        if kind == "postgres":
            place = places.postgres(tmp_path, databases.source, databases.target, **more)
        elif kind == "iceberg":
            request.getfixturevalue("lake_spark")
            place = iceberg(tmp_path, databases.source, [], **more)
        else:
            place = places.duckdb(tmp_path, databases.source, **more)
        place.replica.at_source(*tables)
        place.replica.activate()
        place.replica.check_equal()
        return place

    return make


def rows(place: Place, *columns: str) -> list[tuple[Any, ...]]:
    """The table at the target, by id, which is a number."""
    found = [tuple(row[name] for name in columns) for row in place.read(T) or []]
    return sorted((int(row[0] or 0), *row[1:]) for row in found)


def waiting(place: Place) -> list[tuple[Any, ...]]:
    """The rows that wait at the target: their ids, values of `code`, and reasons."""
    with flow.open_channel(place.replica.file, InProcess()) as run:
        found = able(run.target("warehouse"), DiscardsRows).discarded_rows.newest(1000)
    return sorted((int(one.key[0]), one.values["code"], one.reason) for one in found)


def suspended(place: Place, error: str) -> None:
    """A cycle says of the table what is wrong with it."""
    with pytest.raises(DdlReplError, match=error):
        place.replica.replicate()


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_has_a_type_of_the_targets_own(place_of: Any, kind: str) -> None:
    table = (
        "create type mood as enum ('sad', 'glad')",
        "create table t (id int primary key, code text default '7', mood mood, is_on boolean, at timestamptz,"
        " n numeric(9,2), f float8, ip inet, price text)",
        "insert into t select i, '0' || i, 'glad', i % 2 = 0, '2026-03-01 12:00+00', i, i, '10.0.0.1', '00' || i"
        " from generate_series(1, 3) i",
    )
    types = {"id": "int8", "code": "int", "mood": "varchar(5)", "is_on": "text", "at": "date", "n": "numeric(5,1)"}
    types |= {"f": "text", "ip": "text", "price": "numeric"}
    place = place_of(kind, table, target_tables=[{"tables": "t", "types": types}])
    names = ("id", "code", "mood", "is_on", "at", "n", "f", "ip", "price")
    last = ("2026-03-01", "10.0.0.1")
    found: list[Any] = [
        (i, str(i), "glad", "ft"[i % 2 == 0], last[0], f"{i}.0", str(i), last[1], str(i)) for i in (1, 2, 3)
    ]
    assert rows(place, *names) == found
    place.replica.at_source(
        "update t set code = '0012', is_on = true, f = 1.5, price = '-007.50' where id = 1",
        "insert into t values (4, '6', null, null, null, 1.25, null, null, null)",
        "update t set id = 20 where id = 2",
        "alter type mood add value 'calm'",
        "update t set mood = 'calm' where id = 3",
    )
    place.replica.settle()
    found = [
        (1, "12", "glad", "t", last[0], "1.0", "1.5", last[1], "-7.50"),
        (3, "3", "calm", "f", last[0], "3.0", "3", last[1], "3"),
        (4, "6", None, None, None, "1.3", None, None, None),
        (20, "2", "glad", "t", last[0], "2.0", "2", last[1], "2"),
    ]
    assert rows(place, *names) == found
    place.replica.at_source("alter table t alter n type int, alter code type varchar(9)", "alter table t drop ip")
    suspended(place, "ADP-162")
    now(place.replica, target_tables=[{"tables": "t", "types": {n: of for n, of in types.items() if n != "ip"}}])
    place.replica.settle()
    assert [row[1:3] for row in rows(place, "id", "n", "code")] == [
        ("1.0", "12"),
        ("3.0", "3"),
        ("1.0", "6"),
        ("2.0", "2"),
    ]
    place.replica.refresh("public.t")
    place.replica.check_equal()


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_that_is_none_of_the_type_is_refused(place_of: Any, kind: str) -> None:
    """By a load, where 1.5 is no whole number, and by rows of the log."""
    place = place_of(kind, TABLE)
    for text in ("two", "1.5", "9999999999"):
        place.replica.at_source(f"update t set code = '{text}' where id = 2")
        now(place.replica, target_tables=[{"tables": "t", "types": {"code": "int"}}])
        suspended(place, "TGT-120")
        now(place.replica, target_tables=[])
        place.replica.settle()
    place.replica.at_source("update t set code = '2' where id = 2")
    now(place.replica, target_tables=[{"tables": "t", "types": {"code": "varchar(4)"}}])
    place.replica.replicate()
    place.replica.at_source("insert into t values (4, 'fours', 4, 'four')", "update t set note = 'drei' where id = 3")
    assert str(place.suspend()) and rows(place, "id", "note")[-1] == (3, "three")
    now(place.replica, target_tables=[{"tables": "t", "types": {"code": "varchar(5)"}}])
    place.replica.settle()
    place.replica.at_source("insert into t values (5, '5.5', 5, 'five')")
    place.replica.settle()


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_that_does_not_fit_becomes_null(place_of: Any, kind: str) -> None:
    """By a load, by rows of the log and in a comparison alike; never in a column that is NOT NULL."""
    entry = {"tables": "t", "types": TYPES, "coerce_error_policy": None}
    place = place_of(kind, target_tables=[entry])
    names = ("id", "code", "n", "note")
    assert rows(place, *names) == [(1, "1", "1.0", "one"), (2, None, "2.0", "two"), (3, "3", None, "three")]
    place.replica.at_source(
        "update t set code = 'none', n = 1.25 where id = 1",
        "update t set code = '0022' where id = 2",
        "update t set note = 'drei' where id = 3",
        "insert into t values (4, '99999999999', -1000, 'four')",
    )
    told = place.replica.settle().discarded
    found = [(1, None, "1.3", "one"), (2, "22", "2.0", "two"), (3, "3", None, "drei"), (4, None, None, "four")]
    assert rows(place, *names) == found
    assert told == {
        "public.t: values of column code do not fit integer and are NULL (coerce_error_policy)": 2,
        "public.t: values of column n do not fit numeric(4,1) and are NULL (coerce_error_policy)": 2,
    }
    warnings = place.replica.refresh("public.t").warnings
    assert "2 values of column code do not fit integer and are NULL (coerce_error_policy)" in str(warnings)
    place.replica.check_equal()
    assert rows(place, *names) == found
    place.replica.at_source("update t set note = 'too long' where id = 3")
    suspended(place, r"INT-133|INT-123")
    with pytest.raises(DdlReplError, match="TGT-12"):
        place.replica.refresh("public.t")
    now(place.replica, target_tables=[{**entry, "coerce_error_policy": "truncate", "types": {"note": "varchar(5)"}}])
    place.replica.settle()
    assert rows(place, "id", "note") == [(1, "one"), (2, "two"), (3, "too l"), (4, "four")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_that_is_too_long_is_cut(place_of: Any, kind: str) -> None:
    entry = {"tables": "t", "types": {"code": "varchar(2)"}, "coerce_error_policy": "truncate"}
    place = place_of(kind, target_tables=[entry])
    place.replica.at_source("update t set code = 'äbc' where id = 1", "insert into t values (6, 'defg', 6, 'six')")
    place.replica.settle()
    found = [(1, "äb"), (2, "tw"), (3, "3"), (6, "de")]
    assert rows(place, "id", "code") == found
    place.replica.refresh("public.t")
    place.replica.check_equal()
    assert rows(place, "id", "code") == found


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_does_not_fit_waits_in_the_queue(place_of: Any, kind: str) -> None:
    entry = {"tables": "t", "types": {"code": "int"}, "coerce_error_policy": "discard"}
    place = place_of(kind, target_tables=[entry])
    no_number = 'code: invalid input syntax for type integer: "{}"'
    assert rows(place, "id", "code") == [(1, "1"), (3, "3")]
    assert waiting(place) == [(2, "two", no_number.format("two"))]
    place.replica.at_source(
        "insert into t values (4, 'four', 4, 'four'), (5, 'five', 5, 'five'), (6, '6', 6, 'six'), (7, '7', 7, 'seven')",
        "update t set code = '22' where id = 2",  # it comes
        "update t set code = 'one' where id = 1",  # it goes
        "update t set note = 'drei' where id = 3",
        "delete from t where id = 5",
        "update t set id = 40 where id = 4",
        "update t set id = 60, code = 'six' where id = 6",
        "update t set code = 'x' where id = 7",
        "delete from t where id = 7",
    )
    told = place.replica.settle().discarded
    assert told == {"public.t: rows do not fit the target's columns and are discarded (coerce_error_policy)": 3}
    assert rows(place, "id", "code", "note") == [(2, "22", "two"), (3, "3", "drei")]
    queue = [(i, code, no_number.format(code)) for i, code in ((1, "one"), (40, "four"), (60, "six"))]
    assert waiting(place) == queue
    compared = place.replica.compare()
    assert (compared.differences, compared.discarded, compared.is_equal) == (0, 3, False)
    with flow.open_channel(place.replica.file, InProcess()) as run:
        assert "    3 rows are discarded: ddlrepl errors" in flow.status(run).text().splitlines()
        assert [(row["code"], row["table"]) for row in flow.discarded_rows(run)] == [("INT-134", "public.t")] * 3
    listed = commands.errors(place.replica.file).to_json()
    assert {row["code"] for row in listed} == {"INT-134"} and '"note": "four"' in str(listed)
    told_of_load = [one for one in place.replica.refresh("public.t").warnings if "becomes " not in one]
    assert told_of_load[0] == "public.t: 3 rows do not fit the target's columns and are discarded (coerce_error_policy)"
    assert len(told_of_load) == 1, told_of_load
    assert waiting(place) == queue
    place.replica.check_equal()
    now(place.replica, target_tables=[{**entry, "coerce_error_policy": "null"}])
    place.replica.settle()
    assert waiting(place) == [] and [row for row in rows(place, "id", "code") if row[1] is None] != []
    now(place.replica, target_tables=[entry])
    place.replica.settle()
    assert waiting(place) == queue
    place.replica.at_source("truncate t", "insert into t values (9, 'nine', 9, 'nine')")
    place.replica.settle()
    assert [row[0] for row in waiting(place)] == [9]
    place.replica.at_source("drop table t")
    place.replica.settle()
    assert waiting(place) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", ["null", "discard"])
def test_a_key_that_does_not_fit_is_never_null(place_of: Any, kind: str, policy: str) -> None:
    """The target does not follow a wider key; when it does again the table is loaded, and the queue is empty."""
    place = place_of(
        kind,
        ("create table t (id int primary key, code varchar(5), w int)", "insert into t values (1, 'one', 1)"),
        defaults="hvr",
        adapt_ddl=[],
        target_tables=[{"tables": "t", "coerce_error_policy": policy}],
    )
    place.replica.at_source(
        "alter table t alter id type bigint, alter code type text",
        "insert into t values (2, 'longer than 5', 2), (3, null, 4)",
    )
    place.replica.replicate()
    place.replica.at_source("insert into t values (3000000000, 'big', 3)")
    if policy == "null":
        assert rows(place, "id", "code") == [(1, "one"), (2, None), (3, None)]
        assert place.suspend()
        return
    place.replica.replicate()
    reasons = [reason.partition(":")[0] for _, _, reason in waiting(place)]
    assert ([row[:2] for row in waiting(place)], reasons) == (
        [(2, "longer than 5"), (3000000000, "big")],
        ["code", "id"],
    )
    assert rows(place, "id", "code") == [(1, "one"), (3, None)]
    place.replica.refresh("public.t")
    assert [row[0] for row in waiting(place)] == [2, 3000000000] and place.replica.compare().discarded == 2
    now(place.replica, adapt_ddl=[{"table": "*"}])
    place.replica.at_source("alter table t alter id type numeric(20,0)", "update t set code = 'new' where w = 3")
    place.replica.settle()
    assert waiting(place) == [] and place.replica.compare().is_equal


FITS = "(code is null or code ~ '^ *[0-9]{1,9} *$') and (n is null or abs(n) < 999)"


def random_statement(draw: random.Random) -> str:
    """A change of one row, or of all; each key may be used again."""
    at, code = draw.randint(1, 12), draw.choice(("'1'", "'bad'", "null", "'99999999999'", "' 7 '"))
    number = draw.choice(("1", "2.55", "99999", "null"))
    insert = f"insert into t values ({at}, {code}, {number}, 'new') on conflict (id) do update set code = excluded.code"
    change = f"update t set code = {code}, n = {number} where id = {at}"
    move = f"update t set id = {draw.randint(100, 10**9)} where id = {at}"
    return draw.choice([insert, insert, change, change, move, f"delete from t where id = {at}", insert, change])


@pytest.mark.parametrize("kind", KINDS)
def test_random_changes_leave_each_row_in_the_table_or_in_the_queue(place_of: Any, kind: str) -> None:
    draw = random.Random(7)
    types = {"code": "int", "n": "numeric(4,1)"}
    place = place_of(kind, target_tables=[{"tables": "t", "types": types, "coerce_error_policy": "discard"}])
    for _ in range(4):
        place.replica.at_source(*(random_statement(draw) for _ in range(25)))
        place.replica.settle()
        ids = "select id from t where {} order by id"
        assert [row[:1] for row in waiting(place)] == at_source(place.replica, ids.format(f"not ({FITS})"))
        assert rows(place, "id") == at_source(place.replica, ids.format(FITS))


@pytest.mark.parametrize("policy", ["null", "discard"])
def test_values_of_functions_may_not_fit_either(place_of: Any, policy: str) -> None:
    """Of a text of twelve letters the function gives four."""
    function = {"tables": "t", "columns": "note", "function": "tests.support.value_functions:masked"}
    entry = {"tables": "t", "types": {"note": "varchar(3)"}, "coerce_error_policy": policy}
    table = ("create table t (id int primary key, code text, note text)", "insert into t values (1, '', 'a')", FULL)
    place = place_of("duckdb", table, target_tables=[entry], transform=[function])
    place.replica.at_source("insert into t values (2, '', 'more letters'), (3, '', 'b')")
    place.replica.settle()
    place.replica.at_source("update t set note = 'more letters' where id = 3")
    place.replica.settle()
    there = [(1, "a*1"), (2, None), (3, None)]
    assert rows(place, "id", "note") == (there if policy == "null" else there[:1])


def test_what_a_duckdb_file_does_not_read_is_refused_by_name(databases: Databases, tmp_path: Path) -> None:
    table = "create table t (f float8 primary key, a text)"
    for entry in (
        {"types": {"a": "interval"}},
        {"types": {"a": "timestamp(3)"}},
        {"types": {"a": "numeric(50,2)"}},
        {"coerce_error_policy": "discard"},
    ):
        place = places.duckdb(tmp_path, databases.source, target_tables=[{"tables": "t", **entry}])
        place.replica.at_source(f"drop table if exists t; {table}")
        with pytest.raises(Unsupported, match="ADP-164"):
            place.replica.activate()


def test_files_hold_no_rows_that_wait(make_place: MakePlace) -> None:
    place = make_place(target_tables=[{"tables": "orders", "coerce_error_policy": "discard"}])
    if place.engine == "files":
        with pytest.raises(Unsupported, match=r"ADP-164: .*discards no rows"):
            place.start()
    else:
        place.start()
        place.replica.settle()
