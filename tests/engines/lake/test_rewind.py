"""Tables are built in a lake as they were, and a live lake goes back and on again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import CannotRewind
from airflow_ddlrepl.model.names import TableName
from tests.conformance.test_rewind import TYPES
from tests.conftest import Databases
from tests.support.lakes.channel import by_hand
from tests.support.lakes.reader import pointers, rows_at
from tests.support.replayable import HORIZON, captured
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(1200)]

Row = tuple[str | None, ...]


def lake(folder: Path, name: str) -> str:
    return f"iceberg://{folder}/{name}/catalog.db?warehouse={folder}/{name}/files"


def rows(location: str, table: str) -> list[Row] | None:
    """The rows of a table of a lake as DuckDB reads them; None: there is no such table."""
    found = pointers(location).get(TableName("public", table))
    return None if found is None else sorted(rows_at(found)[1], key=str)


Make = Callable[..., Replica]


@pytest.fixture
def make(databases: Databases, tmp_path: Path, lake_spark: None) -> Make:
    """A channel from PostgreSQL into a lake `now`, with a replay `past` in another one; live, past: their engines."""

    def made(live: str = "iceberg", past: str = "iceberg", **more: Any) -> Replica:
        target = lake(tmp_path, "now") if live == "iceberg" else databases.target
        replay = lake(tmp_path, "past") if past == "iceberg" else databases.server.create_database("past_of_a_lake")
        replays = [{"name": "past", "location": replay}]
        file = channel_file(tmp_path, databases.source, target, rewind_horizon=HORIZON, replays=replays, **more)
        return Replica(databases.source, target, file)

    return made


@pytest.mark.parametrize("live", ["iceberg", "postgres"])
def test_back_across_changes_of_shapes(make: Make, tmp_path: Path, live: str) -> None:
    replica, past = make(live), lake(tmp_path, "past")
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
    assert rows(past, "t") == [("1", "x", "11"), ("2", "y", "20")]
    goods = rows(past, "goods")
    assert goods is not None and len(goods) == 2 and goods[1][2] is None
    if live == "iceberg":
        here = rows(lake(tmp_path, "now"), "goods") or []
        assert [row[:2] + row[3:] for row in goods] == [row[:2] + row[3:] for row in here]
    replica.rewind(between)
    assert rows(past, "t") == [("1", "x"), ("2", "y"), ("3", "z")]
    assert rows(past, "u") is None
    replica.rewind(now, onward=True)
    assert rows(past, "t") == [("2", "y"), ("3", "z")]
    assert rows(past, "u") == []
    replica.check_equal()


@pytest.mark.parametrize(("live", "past"), [("iceberg", "iceberg"), ("postgres", "iceberg"), ("iceberg", "postgres")])
def test_a_live_target_that_somebody_damaged(make: Make, tmp_path: Path, live: str, past: str) -> None:
    replica = make(live, past)
    replica.at_source("create table k (x int)", "insert into k values (7), (7)", *TYPES)
    replica.activate()
    replica.at_source("insert into k values (8)", "alter table goods add n int default 4")
    before = captured(replica)
    replica.at_source(
        "alter table goods rename n to m", "update goods set m = 5 where id = 1", "delete from k where x = 8"
    )
    captured(replica)
    if live == "iceberg":
        by_hand(replica.target, TableName("public", "goods"), "DELETE FROM {}")
        by_hand(replica.target, TableName("public", "k"), "INSERT INTO {} VALUES (9)")
    else:
        replica.at_target("delete from goods", "insert into k values (9)")
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
    noted = [rows(lake(tmp_path, "now"), table) for table in ("t", "told")]
    assert [len(found or ()) for found in noted] == [10, 2]
    replica.at_source("update t set b = 5 where id = 20", "update told set share = 0")
    captured(replica)
    replica.rewind(before)
    assert [rows(lake(tmp_path, "past"), table) for table in ("t", "told")] == noted


def test_what_is_in_the_way_is_named_and_stays(make: Make, tmp_path: Path) -> None:
    replica, past = make(), lake(tmp_path, "past")
    replica.at_source("create table t (id int primary key)", "insert into t values (1)", "create table u (id int)")
    replica.activate()
    before = captured(replica)
    replica.rewind(before, tables=["public.u"])
    by_hand(past, TableName("public", "t"), columns="id INT")
    assert replica.plan_rewind(before).to_json()["in_the_way"] == ["table public.t"]
    with pytest.raises(CannotRewind) as raised:
        replica.rewind(before)
    assert raised.value.code == "REW-105" and "DROP TABLE `public`.`t`" in raised.value.hint
    assert rows(past, "t") == [] and rows(past, "u") == []
