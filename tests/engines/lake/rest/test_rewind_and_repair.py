"""A lake in a REST catalog goes back and on again, tables are built in one as they were, and rows are repaired."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import CannotRewind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.lakes.rest import Rest, rest_server
from tests.support.replayable import HORIZON, captured
from tests.support.replica import Replica, channel_file

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.server,
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("lake_spark"),
]
T, U, LOG = (TableName("public", name) for name in ("t", "u", "log"))
Row = tuple[str | None, ...]


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Rest]:
    """The server of the lake in which tables are built as they were."""
    with rest_server(tmp_path / "other") as found:
        yield found


def rows(rest: Rest, name: TableName) -> list[Row] | None:
    """The values of a table's rows; None: there is no such table."""
    return [tuple(row.values()) for row in rest.read(name)] if name in rest.pointers() else None


def shown(rest: Rest, view: str) -> int:
    """How many rows a view shows."""
    return int(rest.somebody().sql(f"SELECT * FROM lake.public.{view}").count())


def lake(folder: Path, rest: Rest) -> str:
    return f"iceberg://{folder}/state.db?warehouse={folder}/wh&{rest.settings()}"


def test_tables_go_back_and_on_again_and_rows_are_repaired(
    databases: Databases, tmp_path: Path, rest: Rest, other: Rest
) -> None:
    now, past = lake(tmp_path / "now", rest), lake(tmp_path / "past", other)
    replays = [{"name": "past", "location": past}]
    file = channel_file(tmp_path, databases.source, now, rewind_horizon=HORIZON, replays=replays)
    replica = Replica(databases.source, "", file)
    replica.at_source(
        "create table t (id int primary key, a text, b int)",
        "insert into t values (1, 'x', 10)",
        "create table log (what text)",
        "alter table log replica identity full",
        "insert into log values ('twice'), ('twice')",
        "create table p (id int primary key) partition by range (id)",
        "create table p1 partition of p for values from (0) to (10)",
        "insert into p values (1)",
    )
    replica.activate()
    replica.at_source("insert into t values (2, 'y', 20)", "update t set b = 11 where id = 1")
    before = captured(replica)
    replica.at_source(
        "alter table t drop b",
        "alter table t rename a to aa",
        "insert into t values (3, 'z')",
        "create table p2 partition of p for values from (10) to (20)",
        "insert into p values (11)",
        "delete from log where ctid = (select min(ctid) from log)",
    )
    between = captured(replica)
    replica.at_source("alter table t alter id type bigint", "delete from t where id = 1", "create table u (x int)")
    last = captured(replica)
    replica.rewind(before)
    assert rows(other, T) == [("1", "x", "11"), ("2", "y", "20")] and shown(other, "p") == 1
    assert len(rows(other, LOG) or ()) == 2 and rows(other, TableName("public", "p2")) is None
    replica.rewind(between)
    assert rows(other, T) == [("1", "x"), ("2", "y"), ("3", "z")] and shown(other, "p") == 2
    assert rows(other, U) is None and len(rows(other, LOG) or ()) == 1
    replica.rewind(last, onward=True)
    assert rows(other, T) == [("2", "y"), ("3", "z")] and rows(other, U) == []
    replica.rewind(before)
    assert len(rows(other, T) or ()) == 2 and rows(other, U) is None
    other.somebody().sql("CREATE TABLE lake.public.u (mine INT) USING iceberg")
    with pytest.raises(CannotRewind, match=r"table public\.u"):
        replica.rewind(last)
    other.somebody().sql("DROP TABLE lake.public.u")

    replica.settle()
    assert shown(rest, "p") == 2
    rest.somebody().sql("DELETE FROM lake.public.t WHERE id = 2")
    rest.somebody().sql("INSERT INTO lake.public.t VALUES (9, 'of somebody')")
    with flow.open_channel(replica.file, InProcess()) as run:
        found = flow.repair(run)
    assert (found.repaired, found.unrepaired, found.differences) == (("public.t",), (), 0)
    replica.check_equal()
    rest.somebody().sql("DELETE FROM lake.public.t")
    placed = replica.rewind(before, "").placed
    assert placed["public.t"] == 2
    replica.check_equal()
    replica.at_source("insert into t values (7, 'later')", "insert into p values (2)")
    replica.settle()
    assert shown(rest, "p") == 3
    replica.check_equal()
