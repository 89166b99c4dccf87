"""A story for catalogs of every kind: a table is rolled back to its own snapshots, also where the run is killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica, channel_file

T, OTHER = TableName("public", "t"), TableName("public", "other")


class Killed(BaseException):
    """What ends a run where it stands."""


def roll_back(replica: Replica, wanted: int | None = None, *tables: str) -> Any:
    """Take tables back; without a name one that is called `t`."""
    with flow.open_channel(replica.file, InProcess()) as run:
        return flow.roll_back(run, tables or ["public.t"], wanted)


def killed(replica: Replica, module: Any, point: str, wanted: int | None = None) -> None:
    """A roll back that is killed where it passes a fail point of a module."""

    def reach(name: str) -> None:
        if name == point:
            raise Killed

    with pytest.MonkeyPatch.context() as patched, pytest.raises(Killed):
        patched.setattr(module, "reach", reach)
        roll_back(replica, wanted)


def tell(source: str, folder: Path, lake: Any, location: str, points: dict[str, Any]) -> Replica:
    """Tell the story. lake: as readers see it. points: where runs are killed, each with the module that passes it."""
    replica = Replica(source, "", channel_file(folder, source, location))
    replica.at_source(
        "create table t (id int primary key, v text)",
        "create table other (id int primary key, v text)",
        "insert into t select i, 'old' from generate_series(1, 9) i",
        "insert into other values (1, 'old')",
    )
    replica.activate()

    def newest() -> int:
        table = lake.somebody().table("lake.public.t.snapshots").orderBy("committed_at").collect()
        return int(table[-1]["snapshot_id"])

    def somebody(text: str) -> None:
        lake.somebody().sql(text)

    for number, (point, module) in enumerate([("", None), *points.items()], 2):
        replica.at_source(f"update t set v = 'w{number}' where id < 4; insert into t values ({number * 10}, 'new')")
        replica.settle()
        before, other = newest(), lake.pointers()[OTHER]
        somebody("UPDATE lake.public.t SET v = 'theirs' WHERE id > 1")
        replica.at_source(f"delete from t where id = {number}; insert into t values ({number * 10 + 1}, 'late')")
        replica.at_source("alter table t add column more int", "alter table t drop column more")
        replica.replicate()
        assert replica.compare().differences > 0
        if module is not None:
            killed(replica, module, point, before)
            with flow.open_channel(replica.file, InProcess()) as run:
                assert ("TGT-118" in flow.status(run).text()) is (point == "roll_back.committed")
            replica.replicate()
        if replica.compare().differences:
            roll_back(replica, before)
        replica.check_equal()
        assert lake.pointers()[OTHER] == other
        somebody(f"CALL lake.system.rollback_to_snapshot('public.t', {before})")
        somebody("INSERT INTO lake.public.t VALUES (900, 'theirs')")
        replica.at_source(f"insert into other values ({number}, 'goes on')")
        with pytest.raises(DdlReplError, match="TGT-114"):
            replica.at_source(f"update t set v = 'later' where id = {number * 10}")
            replica.replicate()
        roll_back(replica)
        replica.settle()
    return replica
