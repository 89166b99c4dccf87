"""A story for catalogs of every kind: a lake goes back and on again, and rows are repaired."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import CannotRewind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replayable import captured, past_at
from tests.support.replica import Replica, channel_file

T, U, LOG, P2 = (TableName("public", name) for name in ("t", "u", "log", "p2"))
BEGIN = (
    "create table t (id int primary key, a text, b int)",
    "insert into t values (1, 'x', 10)",
    "create table log (what text)",
    "alter table log replica identity full",
    "insert into log values ('twice'), ('twice')",
    "create table p (id int primary key) partition by range (id)",
    "create table p1 partition of p for values from (0) to (10)",
    "insert into p values (1)",
)
BETWEEN = (
    "alter table t drop b",
    "alter table t rename a to aa",
    "insert into t values (3, 'z')",
    "create table p2 partition of p for values from (10) to (20)",
    "insert into p values (11)",
    "delete from log where ctid = (select min(ctid) from log)",
)
Row = tuple[str | None, ...]
Partitioned = Callable[[Any], int]
"""How many rows the partitioned table of a lake shows."""


def rows(lake: Any, name: TableName) -> list[Row] | None:
    """The values of a table's rows; None: there is no such table."""
    return [tuple(row.values()) for row in lake.read(name)] if name in lake.pointers() else None


def tell(source: str, folder: Path, here: tuple[Any, str], there: tuple[Any, str], partitioned: Partitioned) -> Replica:
    """Tell the story to a channel from a source. here, there: its lake and that of its replay, with their locations."""
    (live, location), (past, replay) = here, there
    replica = Replica(source, "", channel_file(folder, source, location, **past_at(replay)))
    replica.at_source(*BEGIN)
    replica.activate()
    replica.at_source("insert into t values (2, 'y', 20)", "update t set b = 11 where id = 1")
    before = captured(replica)
    replica.at_source(*BETWEEN)
    between = captured(replica)
    replica.at_source("alter table t alter id type bigint", "delete from t where id = 1", "create table u (x int)")
    last = captured(replica)
    replica.rewind(before)
    assert rows(past, T) == [("1", "x", "11"), ("2", "y", "20")] and partitioned(past) == 1
    assert len(rows(past, LOG) or ()) == 2 and rows(past, P2) is None
    replica.rewind(between)
    assert rows(past, T) == [("1", "x"), ("2", "y"), ("3", "z")] and partitioned(past) == 2
    assert rows(past, U) is None and len(rows(past, LOG) or ()) == 1
    replica.rewind(last, onward=True)
    assert rows(past, T) == [("2", "y"), ("3", "z")] and rows(past, U) == []
    replica.rewind(before)
    assert len(rows(past, T) or ()) == 2 and rows(past, U) is None
    past.somebody().sql("CREATE TABLE lake.public.u (mine INT) USING iceberg")
    with pytest.raises(CannotRewind, match=r"table public\.u"):
        replica.rewind(last)
    past.somebody().sql("DROP TABLE lake.public.u")

    replica.settle()
    assert partitioned(live) == 2
    _repair(replica, live)
    live.somebody().sql("DELETE FROM lake.public.t")
    assert replica.rewind(before, "").placed["public.t"] == 2
    replica.check_equal()
    replica.at_source("insert into t values (7, 'later')", "insert into p values (2)")
    replica.settle()
    assert partitioned(live) == 3
    return replica


def _repair(replica: Replica, live: Any) -> None:
    """Rows that somebody has changed are found and mended, by their keys."""
    live.somebody().sql("DELETE FROM lake.public.t WHERE id = 2")
    live.somebody().sql("UPDATE lake.public.t SET aa = 'of somebody' WHERE id = 3")
    live.somebody().sql("INSERT INTO lake.public.t VALUES (9, 'of somebody')")
    (found,) = [one for one in replica.compare().tables if one.differences]
    assert (found.missing, found.extra, found.different) == (1, 1, 1)
    with flow.open_channel(replica.file, InProcess()) as run:
        done = flow.repair(run)
    assert (done.repaired, done.unrepaired, done.differences) == (("public.t",), (), 0)
    replica.check_equal()
