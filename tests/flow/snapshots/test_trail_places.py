"""The trail in an object store, and how long it keeps what every target has."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError, TrailError
from airflow_ddlrepl.flow.snapshots import retention
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file
from tests.trail.test_trail import object_store

__all__ = ["object_store"]


def start(databases: Databases, folder: Path, **more: Any) -> Replica:
    file = channel_file(folder, databases.source, databases.target, **more)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("create table t (id int primary key, v text)", "insert into t values (1, 'a')")
    replica.activate()
    return replica


def cycles(replica: Replica, count: int) -> list[int]:
    """So many cycles, each with rows and a schema change; segments that expired in each."""
    expired = []
    for number in range(count):
        replica.at_source(
            f"insert into t (id, v) values ({number + 100}, repeat('x', 1000))",
            f"alter table t add column c{number} int default {number}",
            f"update t set c{number} = 7 where id = 1",
        )
        expired.append(replica.settle().integrate.expired)
    return expired


def manifests(replica: Replica) -> list[str]:
    with flow.open_channel(replica.file, InProcess()) as run:
        paths = list(run.trail.place.walk())
        live = [row for row in run.repository.segments("shop") if row.state == "live"]
    found = [path for path in paths if "/segments/" in path]
    assert len(live) == len(found)
    return found


def test_a_trail_in_an_object_store(object_store: str, databases: Databases, tmp_path: Path) -> None:
    replica = start(databases, tmp_path, trail=f"{object_store}/{tmp_path.name}", retention={"age": 0})
    assert cycles(replica, 3) == [1, 1, 1]
    assert manifests(replica) == []


def test_everything_is_kept_unless_said(databases: Databases, tmp_path: Path) -> None:
    replica = start(databases, tmp_path)
    assert cycles(replica, 3) == [0, 0, 0]
    assert len(manifests(replica)) == 3


def test_age(databases: Databases, tmp_path: Path) -> None:
    replica = start(databases, tmp_path, retention={"age": 3600})
    assert cycles(replica, 2) == [0, 0]
    changed = Replica(
        databases.source,
        databases.target,
        channel_file(tmp_path, databases.source, databases.target, retention={"age": 0}),
    )
    changed.at_source("insert into t (id, v) values (500, 'y')")
    assert changed.settle().integrate.expired == 3
    assert manifests(changed) == []


def test_size(databases: Databases, tmp_path: Path) -> None:
    replica = start(databases, tmp_path)
    assert cycles(replica, 2) == [0, 0]
    with flow.open_channel(replica.file, InProcess()) as run:
        size = sum(row.bytes for row in run.repository.segments("shop"))
    replica = Replica(
        databases.source,
        databases.target,
        channel_file(tmp_path, databases.source, databases.target, retention={"size": size}),
    )
    replica.at_source("insert into t (id, v) values (500, 'y')")
    assert replica.settle().integrate.expired == 1
    assert len(manifests(replica)) == 2


def test_leftovers_of_killed_runs_go_after_a_day(databases: Databases, tmp_path: Path) -> None:
    replica = start(databases, tmp_path, retention={"age": 0})
    with flow.open_channel(replica.file, InProcess()) as run:
        for name in ("old", "new"):
            run.trail.write(f"e1/data/0fffffffffffffff/{name}.parquet", b"left")
        old = Path(run.trail.place.full("e1/data/0fffffffffffffff/old.parquet"))
    day = time.time() - retention.LEFTOVER_SECONDS - 60
    os.utime(old, (day, day))
    cycles(replica, 1)
    assert not old.exists() and old.with_name("new.parquet").exists()


def test_what_a_target_lacks_stays(databases: Databases, tmp_path: Path) -> None:
    second = databases.server.create_database(f"{tmp_path.name[:40]}_b".replace("-", "_"))
    targets = [{"name": "near", "location": databases.target}, {"name": "far", "location": second}]
    replica = start(databases, tmp_path, targets=targets, retention={"age": 0})
    assert cycles(replica, 1) == [1]
    replica.at_source("insert into t (id) values (900)")
    replica.capture()
    databases.server.drop_database(second.rsplit("/", 1)[1])
    with pytest.raises(DdlReplError), flow.open_channel(replica.file, InProcess()) as run:
        flow.integrate(run)
    assert len(manifests(replica)) == 1


def test_a_damaged_segment_is_named(databases: Databases, tmp_path: Path) -> None:
    replica = start(databases, tmp_path)
    replica.at_source("insert into t values (2, 'b')")
    replica.capture()
    with flow.open_channel(replica.file, InProcess()) as run:
        file = next(path for path in run.trail.place.walk() if path.endswith(".parquet") and "-t" not in path)
        whole = Path(run.trail.place.full(file))
    whole.write_bytes(whole.read_bytes()[:-10])
    with pytest.raises(TrailError, match=whole.name):
        replica.replicate()
