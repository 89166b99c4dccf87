"""What only a DuckDB file has, and what it has otherwise than the source, costs no rows: it is done, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.adapt.plan_model import StepKind
from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.errors import CannotAdapt, DdlReplError, TargetError, Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table_state import TableStatus
from tests.conformance import places
from tests.conftest import Databases

DROPS = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}]
ORDERS = TableName("public", "orders")


def execute(folder: Path, *statements: str) -> None:
    with session(f"duckdb://{folder}/target.duckdb") as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize("rows", ["insert into orders select i, 'order' from generate_series(1, 3) i", "select 1"])
def test_a_table_whose_name_differs_in_case_alone_replaces_and_drops_none(
    databases: Databases, tmp_path: Path, rows: str
) -> None:
    """Also none that is empty."""
    place = places.duckdb(tmp_path, databases.source, adapt_ddl=DROPS)
    place.replica.at_source("create table orders (id int primary key, note text)", rows)
    place.replica.activate()
    before = place.read(ORDERS)
    place.replica.at_source('create table "Orders" (id int primary key, note text); insert into "Orders" values (9)')
    for _ in range(2):
        with pytest.raises(DdlReplError, match=r"ADP-104|ADP-120|ADP-130"):
            place.replica.replicate()
    assert place.read(ORDERS) == before and place.states()["public.orders"] is TableStatus.LIVE
    place.replica.at_source('drop table "Orders"')
    place.replica.replicate()
    assert place.read(ORDERS) == before


def test_columns_that_people_added_keep_their_values_by_key(databases: Databases, tmp_path: Path) -> None:
    place = places.duckdb(tmp_path, databases.source)
    place.start()
    add = "alter table public.{0} add column mine varchar"
    execute(tmp_path, add.format("orders"), "update public.orders set mine = 'of ' || id")
    place.replica.at_source("delete from orders where id = 2", "insert into orders values (40, 'new')")
    place.replica.replicate()
    place.replica.refresh("public.orders")
    found = {row["id"]: row["mine"] for row in place.read(ORDERS) or []}
    assert found["1"] == "of 1" and found["40"] is None and "2" not in found and len(found) == 30
    execute(tmp_path, add.format("log"), "update public.log set mine = 'x'")
    with pytest.raises(CannotAdapt, match="ADP-132"):
        place.replica.refresh("public.log")
    assert {row["mine"] for row in place.read(TableName("public", "log")) or []} == {"x"}

    place.replica.at_source("alter table orders add mine int default 7")
    with pytest.raises(CannotAdapt, match="ADP-105"):
        place.replica.refresh("public.orders")


def test_a_chunk_that_the_driver_does_not_see_is_an_error(
    databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a cluster whose workers have a folder of their own."""
    place = places.duckdb(tmp_path, databases.source)
    place.start()
    before = place.read(ORDERS)
    monkeypatch.setattr("airflow_ddlrepl.engines.duckdb.load.shadow.Shadow.rows", None)
    with pytest.raises(TargetError, match=r"TGT-120.*30 rows were loaded, and 0 are there"):
        place.replica.refresh("public.orders")
    assert place.read(ORDERS) == before


def test_names_and_labels_that_are_swapped_in_a_transaction_are_swapped(databases: Databases, tmp_path: Path) -> None:
    place = places.duckdb(tmp_path, databases.source)
    place.start(
        "create table s (id int primary key, a text, b text); insert into s values (1, 'a', 'b')",
        "create type mood as enum ('x', 'y')",
        "create table m (id int primary key, mood mood); insert into m values (1, 'x')",
    )
    place.replica.at_source(
        "begin; update s set a = 'aa'; alter table s rename a to c; alter table s rename b to a;"
        " alter table s rename c to b; update s set a = 'bb'; commit",
        "begin; alter table s rename to t; alter table log rename to s; alter table t rename to log;"
        " insert into log values (2, 'p', 'q'); insert into s values ('last', 9); commit",
        "begin; insert into m values (2, 'y'); alter type mood rename value 'x' to 'z';"
        " alter type mood rename value 'y' to 'x'; alter type mood rename value 'z' to 'y'; commit",
    )
    place.settle()


def test_what_duckdb_can_not_change_stops_one_table(databases: Databases, tmp_path: Path) -> None:
    place = places.duckdb(tmp_path, databases.source)
    place.start(
        "create type mood as enum ('x', 'y')",
        "create table a (id int primary key, moods mood[]); insert into a values (1, '{x,y}')",
        "create table indexed (id int primary key, n int); insert into indexed values (1, 1)",
    )
    execute(tmp_path, "create index i on public.indexed (n)")
    place.replica.at_source(
        "alter type mood rename value 'x' to 'z'",
        "begin; update indexed set n = 2; alter table indexed add o int; commit",
        "insert into orders values (40, 'goes on')",
    )
    told = str(place.suspend())
    assert "ADP-111" in told and place.states()["public.a"] is not TableStatus.LIVE
    place.replica.refresh("public.a")
    assert [row["moods"] for row in place.read(TableName("public", "a")) or []] == ["{z,y}"]
    assert [row["n"] for row in place.read(TableName("public", "indexed")) or []] == ["2"]
    place.replica.at_source("create table empty ()", "insert into orders values (41, 'goes on')")
    with pytest.raises(Unsupported, match=r"ADP-110.*at least one column"):
        place.replica.replicate()
    assert ("41", "goes on") in [(row["id"], row["note"]) for row in place.read(ORDERS) or []]


def test_a_column_whose_type_a_file_lacks_is_told_by_load_plan_and_run(
    databases: Databases, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = places.duckdb(tmp_path, databases.source)
    columns = "id int primary key, price numeric, tags int[], note varchar(5), feels json, exact numeric(5, 2)"
    place.replica.at_source(f"create table prices ({columns})")
    place.replica.activate()
    told = {text.split(" of ")[0] for text in caplog.messages if "becomes VARCHAR" in text}
    assert told == {"column price", "column tags"}
    place.replica.at_source("alter table prices add lasts interval, add more text, alter id type bigint")
    place.replica.capture()
    (plan,) = place.replica.plan().targets["warehouse"]
    why = "column lasts of public.prices becomes VARCHAR: this kind of target has no type for interval; it is a text"
    assert [step.why for step in plan.steps if step.kind is StepKind.WARN] == [why]
    assert place.replica.replicate().adapt.warnings == (f"public.prices: {why}",)
