"""Tables are built in a DuckDB file as they were, and a live file goes back and on again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.errors import CannotRewind, Unsupported
from airflow_ddlrepl.model.position import Position
from tests.conftest import Databases
from tests.support.crashing import die
from tests.support.replayable import HORIZON, captured
from tests.support.replica import Replica, channel_file

TYPES = (
    "create table goods (id int primary key, moment timestamptz, price numeric(10,2), free numeric, share float8,"
    " data bytea, doc jsonb, many int[], code uuid, day date, ok bool)",
    "insert into goods values (1, '2024-01-01 10:00+02', 1.50, 1.5000, -0.0, '\\xff00', '{\"a\": 1}', '{1,2}',"
    " 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '0044-03-15 BC', true),"
    " (2, 'infinity', null, 'NaN', 'NaN', '', null, null, null, '-infinity', null)",
)
SHOWN = """SELECT id, moment::VARCHAR, price, free, share, hex(data), doc, many, code, day::VARCHAR
FROM public.goods ORDER BY id"""
POINTS = ("rewind.begun", "refresh.chunk", "refresh.transaction", "rewind.restored", "rewind.placed")


def place(folder: Path, name: str) -> str:
    return f"duckdb://{folder}/{name}.duckdb"


def read(location: str, query: str) -> list[tuple[Any, ...]]:
    with session(location) as connection:
        found: list[tuple[Any, ...]] = connection.execute(query).fetchall()
        return found


def has(location: str, table: str) -> bool:
    found = read(location, f"SELECT count(*) FROM duckdb_tables() WHERE table_name = '{table}'")
    return bool(found[0][0])


Make = Callable[..., Replica]


@pytest.fixture
def make(databases: Databases, tmp_path: Path) -> Make:
    """A channel from PostgreSQL into a file `now`, with a replay `past`; live: the engine of the target."""

    def made(live: str = "duckdb", past: str = "duckdb", **more: Any) -> Replica:
        target = place(tmp_path, "now") if live == "duckdb" else databases.target
        replay = place(tmp_path, "past") if past == "duckdb" else databases.server.create_database("past_of_a_file")
        replays = [{"name": "past", "location": replay}]
        file = channel_file(tmp_path, databases.source, target, rewind_horizon=HORIZON, replays=replays, **more)
        return Replica(databases.source, target, file)

    return made


@pytest.mark.parametrize("live", ["duckdb", "postgres"])
def test_back_across_changes_of_shapes(make: Make, tmp_path: Path, live: str) -> None:
    replica, past = make(live), place(tmp_path, "past")
    replica.at_source("create table t (id int primary key, a text, b int)", "insert into t values (1, 'x', 10)", *TYPES)
    replica.activate()
    replica.at_source("insert into t values (2, 'y', 20)", "update t set b = 11 where id = 1")
    before = captured(replica)
    replica.at_source("alter table t drop b", "alter table t rename a to aa", "insert into t values (3, 'z')")
    replica.at_source("update goods set price = 7 where id = 2")
    between = captured(replica)
    replica.at_source("alter table t alter id type bigint", "delete from t where id = 1", "create table u (x int)")
    now = captured(replica)
    replica.rewind(before)
    assert read(past, "SELECT id, a, b FROM public.t ORDER BY id") == [(1, "x", 11), (2, "y", 20)]
    found = read(past, SHOWN)
    assert len(found) == 2 and found[1][2] is None
    if live == "duckdb":
        here = read(replica.target, SHOWN)
        assert str([row[:2] + row[3:] for row in found]) == str([row[:2] + row[3:] for row in here])
    replica.rewind(between)
    assert read(past, "SELECT * FROM public.t ORDER BY id") == [(1, "x"), (2, "y"), (3, "z")]
    assert not has(past, "u")
    replica.rewind(now, onward=True)
    assert read(past, "SELECT * FROM public.t ORDER BY id") == [(2, "y"), (3, "z")]
    assert has(past, "u")
    replica.check_equal()


@pytest.mark.parametrize("live", ["duckdb", "postgres"])
@pytest.mark.parametrize("policy", ["null", "discard"])
def test_back_with_values_that_do_not_fit(make: Make, tmp_path: Path, live: str, policy: str) -> None:
    """Whatever a replay has, the live target has after it went back in it, and its own deleted rows besides."""
    own = {"types": {"code": "int", "n": "numeric(4,1)"}, "coerce_error_policy": policy}
    kept = {"tables": "gone", "soft_delete": "is_deleted", "extra": {"w": "{operation}"}}
    replica, past = make(live, target_tables=[{"tables": "t", **own}, kept]), place(tmp_path, "past")
    replica.at_source(
        "create table t (id int primary key, code text, n numeric)",
        "create table gone (id int primary key)",
        "insert into t values (1, '1', 1), (2, 'two', 2), (3, '3', 12345)",
        "insert into gone values (1), (2)",
    )
    replica.activate()
    replica.at_source("update t set code = 'one' where id = 1", "update t set code = '007' where id = 2")
    replica.at_source("insert into t values (4, '4', 1.25)", "delete from gone where id = 1")
    before = captured(replica)
    replica.at_source("update t set code = 'x'", "delete from gone")
    replica.settle()
    replica.rewind(before)
    found = [(1, None, "1.0"), (2, 7, "2.0"), (3, 3, None), (4, 4, "1.3")]
    query = "SELECT id, code, n::varchar FROM public.t ORDER BY id"
    assert read(past, query) == [row for row in found if policy == "null" or None not in row]
    if policy == "discard":
        queue = "SELECT key[1] FROM ddlrepl.discarded_rows ORDER BY 1"
        assert read(past, queue) == [("1",), ("3",)]
    assert read(past, "SELECT id, is_deleted, w FROM public.gone ORDER BY id") == [
        (1, True, "delete"),
        (2, False, "refresh"),
    ]
    replica.rewind(before, "warehouse")
    replica.settle()


@pytest.mark.parametrize(("live", "past"), [("duckdb", "duckdb"), ("postgres", "duckdb"), ("duckdb", "postgres")])
def test_a_live_target_that_somebody_damaged(make: Make, live: str, past: str) -> None:
    replica = make(live, past)
    replica.at_source("create table k (x int)", "insert into k values (7), (7)", *TYPES)
    replica.activate()
    replica.at_source("insert into k values (8)", "alter table goods add n int default 4")
    before = captured(replica)
    replica.at_source(
        "alter table goods rename n to m", "update goods set m = 5 where id = 1", "delete from k where x = 8"
    )
    captured(replica)
    damage = ("DELETE FROM public.goods", "INSERT INTO public.k VALUES (9)")
    if live == "duckdb":
        for statement in damage:
            read(replica.target, statement)
    else:
        replica.at_target(*damage)
    result = replica.rewind(before, "")
    assert result.placed == {"public.goods": 2, "public.k": 2}
    replica.check_equal()
    replica.at_source("insert into k values (7)", "alter table goods drop m")
    replica.settle()


def test_rows_and_values_that_the_file_asks_for(make: Make, tmp_path: Path) -> None:
    """Archived rows are chosen by the condition, and a function gets the texts that the source writes."""
    replica = make(
        restrict=[{"tables": "t", "condition": "b > 10"}, {"tables": "told", "condition": "id < 3"}],
        transform=[
            {"tables": "told", "function": "tests.support.value_functions:joined", "columns": "note", "reads": "*"}
        ],
        column_properties=[{"tables": "t", "columns": "b", "absent": True}],
    )
    replica.at_source("create table told (id int primary key, note text, share float8, is_new bool, data bytea)")
    replica.at_source("insert into told select i, 'x', 1e20 * i, i > 1, '\\x00' from generate_series(1, 3) i")
    replica.at_source("create table t (id int primary key, a text, b int, c bool)")
    replica.at_source("insert into t select i, 'x', i, i > 12 from generate_series(1, 20) i")
    replica.activate()
    before = captured(replica)
    shown = "SELECT * FROM public.t ORDER BY id", "SELECT * FROM public.told ORDER BY id"
    noted = [read(replica.target, query) for query in shown]
    assert [len(rows) for rows in noted] == [10, 2]
    replica.at_source("update t set b = 5 where id = 20", "update told set share = 0")
    captured(replica)
    replica.rewind(before)
    assert [read(place(tmp_path, "past"), query) for query in shown] == noted


def test_partitions_go_back(make: Make, tmp_path: Path) -> None:
    replica, past = make(), place(tmp_path, "past")
    replica.at_source(
        "create table p (id int, a text, primary key (id)) partition by range (id)",
        "create table p1 partition of p for values from (0) to (10)",
        "insert into p values (1, 'x')",
    )
    replica.activate()
    before = captured(replica)
    replica.at_source("create table p2 partition of p for values from (10) to (20)", "insert into p values (11, 'y')")
    now = captured(replica)
    replica.rewind(before)
    assert read(past, "SELECT * FROM public.p") == [(1, "x")] and not has(past, "p2")
    replica.rewind(now)
    assert read(past, "SELECT * FROM public.p ORDER BY 1") == [(1, "x"), (11, "y")]
    replica.rewind(before)
    assert read(past, "SELECT * FROM public.p") == [(1, "x")] and not has(past, "p2")
    replica.settle()
    read(replica.target, "DELETE FROM public.p1")
    assert replica.rewind(before, "").placed["public.p1"] == 1
    replica.check_equal()
    assert read(replica.target, "SELECT * FROM public.p ORDER BY 1") == [(1, "x"), (11, "y")]


def test_what_is_in_the_way_is_named_and_stays(make: Make, tmp_path: Path) -> None:
    replica, past = make(), place(tmp_path, "past")
    replica.at_source("create table t (id int primary key)", "insert into t values (1)")
    replica.activate()
    before = captured(replica)
    read(past, "CREATE SCHEMA public")
    read(past, "CREATE TABLE public.T AS SELECT 5 AS mine")
    assert replica.plan_rewind(before).to_json()["in_the_way"] == ["table public.T"]
    with pytest.raises(CannotRewind) as raised:
        replica.rewind(before)
    assert raised.value.code == "REW-105" and 'DROP TABLE "public"."T"' in raised.value.hint
    assert read(past, "SELECT * FROM public.t") == [(5,)]
    read(past, "DROP TABLE public.T")
    replica.rewind(before)
    assert read(past, "SELECT * FROM public.t") == [(1,)]


def test_what_a_file_can_not_do_is_refused_before_anything_is_built(make: Make, tmp_path: Path) -> None:
    """The target in PostgreSQL has what the replay in a file can't have."""
    replica = make("postgres", conflicts=[{"tables": "t", "update_row_exists": "overwrite"}])
    replica.at_source("create table t (id int primary key)", "insert into t values (1)")
    replica.activate()
    before = captured(replica)
    with pytest.raises(Unsupported, match="replay past") as raised:
        replica.rewind(before)
    assert raised.value.code == "ADP-194" and not has(place(tmp_path, "past"), "t")


@pytest.mark.req("XR-09")
@pytest.mark.parametrize("point", POINTS)
def test_a_rewind_that_is_killed_is_done_again(make: Make, tmp_path: Path, point: str) -> None:
    replica = make()
    replica.at_source("create table t (id int primary key, a text)", "insert into t values (1, 'x')")
    replica.activate()
    before = captured(replica)
    replica.at_source("alter table t add n int default 1", "insert into t values (2, 'y', 2)")
    captured(replica)
    read(replica.target, "DELETE FROM public.t")
    die("rewind", replica.file, point, Position.parse(before), "warehouse")
    replica.rewind(before, "")
    replica.check_equal()
