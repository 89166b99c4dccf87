"""Partitioned tables of the source: every partition is a table at the target, and their rows are their parent's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from tests.conformance import places
from tests.conformance.conftest import ENGINES, IN_REST, MakePlace
from tests.conftest import Databases

PARENT = TableName("public", "days")
MADE = (
    "create table days (day int, note text, primary key (day)) partition by range (day)",
    "create table days_1 partition of days for values from (0) to (10)",
    "create table days_2 partition of days for values from (10) to (20) partition by list (day)",
    "create table days_2x partition of days_2 default",
    "insert into days select i, 'day ' || i from generate_series(1, 19) i",
)
PARTITIONED_ENGINES = [*(one for one in ENGINES if one != "files"), IN_REST]
DROPS = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}]


def settle(place: places.Place, rows: int | None) -> None:
    """One cycle; then the parent has so many rows at the target, None: it is no partitioned table any more."""
    place.replica.settle()
    parents = {str(PARENT), "public.days_2"} if rows is not None else set[str]()
    tables = {name for name in place.states() if name not in parents}
    assert parents <= place.states().keys()
    for name in tables:
        assert place.read(TableName(*name.split("."))) is not None
    if rows is not None and place.engine != "postgres":
        assert len(place.read(PARENT) or []) == rows


@pytest.mark.parametrize("make_place", PARTITIONED_ENGINES, indirect=True)
@pytest.mark.parametrize("late", [True, False])
def test_a_partitioned_table_has_the_rows_of_its_partitions(make_place: MakePlace, late: bool) -> None:
    """Made before the channel, or by its log: with columns that change, partitions that come, go and are moved to."""
    place = make_place(adapt_ddl=DROPS)
    place.start(*(() if late else MADE))
    if late:
        place.replica.at_source(*MADE)
    settle(place, 19)
    place.replica.at_source(
        "update days set note = 'other' where day = 3",
        "alter table days add column more int default 7",
        "insert into days values (0, 'new', 1)",
        "alter table days rename column note to remark",
        "create table days_3 partition of days for values from (20) to (30)",
        "update days set day = 25 where day = 5",
        "alter table days alter more type bigint",
        "truncate days_2",
    )
    settle(place, 10)
    place.replica.at_source("alter table days detach partition days_1", "insert into days_1 values (1000, 'alone', 1)")
    settle(place, 1)
    place.replica.refresh("public.days*")
    settle(place, 1)
    place.replica.at_source("alter table days attach partition days_1 default", "alter table days drop column more")
    settle(place, 11)
    place.replica.at_source("drop table days", "create table days (day int primary key)", "insert into days values (1)")
    settle(place, None)
    assert place.read(PARENT) == [{"day": "1"}]


def test_a_table_in_the_way_of_a_view_stays(databases: Databases, tmp_path: Path) -> None:
    place = places.duckdb(tmp_path, databases.source)
    place.start()
    with session(f"duckdb://{tmp_path}/target.duckdb") as connection:
        connection.execute("CREATE TABLE public.days (mine INTEGER); INSERT INTO public.days VALUES (1)")
    place.replica.at_source(*MADE)
    refused: Callable[[], object] = place.replica.replicate
    with pytest.raises(DdlReplError, match="ADP-1") as raised:
        refused()
    assert "days" in str(raised.value)
    assert place.read(PARENT) == [{"mine": "1"}]
