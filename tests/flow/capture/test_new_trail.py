"""A trail that is lost or damaged for good: `activate --new-trail` begins another one, and no row is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli.commands import activate
from airflow_ddlrepl.errors import DdlReplError, TargetError, TrailError, Unreachable
from airflow_ddlrepl.ports.work import InProcess
from tests.support.crashing import die
from tests.support.refusing import ask, edit, new_replica, refused
from tests.support.replica import Replica, channel_file, run


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    """Something of everything is captured that the target does not have yet, and something is not captured."""
    made = new_replica(databases, tmp_path)
    made.at_source("create table gone (id int primary key)", "insert into gone values (1)")
    made.at_source("create table named (id int primary key)", "insert into named values (1)")
    made.activate()
    made.at_target("alter table t add own text default 'mine'", "create index own_index on t (v)")
    made.at_source("alter table t add column n int", "insert into t select i, 'row', i from generate_series(2, 500) i")
    made.at_source("create table u (id int primary key)", "insert into u values (1)", "drop table gone")
    made.at_source("alter table named rename to called", "delete from t where id = 3")
    made.capture()
    made.at_source("insert into u values (2)", "update t set v = 'later' where id = 1", "create table later (id int)")
    made.at_source("insert into later values (1)")
    return made


def unlink_all(trail: Path) -> None:
    shutil.rmtree(trail)


def cut_manifests(trail: Path) -> None:
    for file in trail.rglob("segments/*.json"):
        file.write_bytes(file.read_bytes()[:-10])


def lose_rows(trail: Path) -> None:
    for file in trail.rglob("*.parquet"):
        file.unlink()


def check(replica: Replica) -> None:
    """All is there, also the target's own column; positions only grow."""
    assert replica.rows("select distinct own from t") == [("mine",)]
    assert ask(replica.source, "select count(*), sum(n) from t") == replica.rows("select count(*), sum(n) from t")
    replica.at_source("insert into t values (1000, 'after', 1)", "alter table u add c text default 'c'")
    replica.replicate()
    report = replica.compare()
    assert [
        table for table in report.to_json()["tables"] if table["table"] != "public.t" and table["differences"]
    ] == []
    query = "select id, v, n from t order by id"
    assert replica.rows(query) == ask(replica.source, query)
    assert replica.rows("table later") == [(1,)] and replica.rows("select * from u order by id") == [(1, "c"), (2, "c")]


def position(replica: Replica) -> int:
    return int(replica.rows("select lsn - '0/0' from ddlrepl.position")[0][0])


DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (unlink_all, "TRL-101"),
    (cut_manifests, "TRL-106"),
    (lose_rows, "TRL-101"),
]


@pytest.mark.parametrize(("damage", "code"), DAMAGES, ids=["all", "manifests", "rows"])
def test_a_lost_trail(replica: Replica, damage: Callable[[Path], None], code: str) -> None:
    trail = replica.file.parent / "trail"
    before, old = (
        position(replica),
        {path for path in trail.rglob("*") if path.is_file() and "trail.json" not in str(path)},
    )
    damage(trail)
    assert "ddlrepl activate --new-trail" in refused(replica, "replicate", code).hint
    done = activate(replica.file, refresh=True, trail="new", spark="local[1]").to_json()
    assert done["refreshed"]["public.t"] == 499
    assert position(replica) > before
    check(replica)
    assert not any(path.exists() for path in old)
    with flow.open_channel(replica.file, InProcess()) as cycle:
        told = flow.status(cycle).to_json()["trail"]
    assert told["damaged"] == []


def test_the_next_cycle_loads(replica: Replica) -> None:
    """`--no-refresh`."""
    shutil.rmtree(replica.file.parent / "trail")
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.activate(cycle, load=False, trail="new")
    replica.replicate()
    check(replica)


def test_another_place(replica: Replica) -> None:
    """The bucket is gone: the file names another one."""
    trail = replica.file.parent / "trail"
    trail.rename(trail.with_name("away"))
    edit(replica.file, "/trail", "/other")
    replica.activate(trail="new")
    check(replica)


def test_a_table_that_is_dropped_behind_it(replica: Replica) -> None:
    """Its drop is not captured: what came before it is not known, and stops nothing."""
    shutil.rmtree(replica.file.parent / "trail")
    replica.at_source("update u set id = 7 where id = 1", "drop table called")
    replica.activate(trail="new")
    replica.replicate()
    replica.at_source("create table called (id int primary key, x text)", "insert into called values (4, 'x')")
    replica.replicate()
    assert replica.rows("table called") == [(4, "x")]


def test_tables_that_exchanged_their_names(databases: Any, tmp_path: Path) -> None:
    replica = new_replica(databases, tmp_path)
    replica.at_source("create table a (id int primary key)", "create table b (id int primary key, x text)")
    replica.activate()
    replica.at_source("alter table a rename to c", "alter table b rename to a", "alter table c rename to b")
    replica.at_source("insert into a values (1, 'x')", "insert into b values (2)")
    replica.capture()
    shutil.rmtree(tmp_path / "trail")
    replica.activate(trail="new")
    replica.settle()
    assert (replica.rows("table a"), replica.rows("table b")) == ([(1, "x")], [(2,)])


@pytest.mark.parametrize("point", ["activate.source", "activate.target", "activate.targets", "refresh.placed"])
def test_killed_on_the_way(replica: Replica, point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it was killed at: the target says so until an activation has ended, then nothing is missing."""
    shutil.rmtree(replica.file.parent / "trail")
    die("begin_new_trail", replica.file, point)
    if point in ("activate.target", "activate.targets"):
        error = refused(replica, "replicate", "TGT-107")
        assert "warehouse" in error.message and "ddlrepl activate" in error.hint
        replica.activate()
    else:
        replica.activate(trail="new")
    check(replica)


def test_a_target_that_does_not_answer(databases: Any, tmp_path: Path, past: str) -> None:
    """Nothing is done before all of them answer."""
    targets = [{"name": "first", "location": databases.target}, {"name": "second", "location": past}]
    replica = new_replica(databases, tmp_path, targets=targets)
    replica.activate()
    replica.at_source("insert into t values (2, 'b')")
    replica.capture()
    shutil.rmtree(tmp_path / "trail")
    text = replica.file.read_text()
    edit(replica.file, past, "postgresql://nobody@127.0.0.1:1/nowhere")
    with pytest.raises(Unreachable, match="CON-101: target second"):
        replica.activate(trail="new")
    replica.file.write_text(text)
    with pytest.raises(TrailError, match="TRL-101"):
        replica.replicate()
    replica.activate(trail="new")
    replica.settle()
    assert ask(past, "table t") == ask(databases.source, "table t")


def test_rewinds(databases: Any, tmp_path: Path, past: str) -> None:
    """To before it: refused, with the oldest position that works; to after it: they go."""
    more = {"rewind_horizon": {"age": "1d"}, "replays": [{"name": "past", "location": past}]}
    replica = new_replica(databases, tmp_path, **more)
    replica.activate()
    replica.settle()
    early = captured(replica)
    replica.rewind(early)
    replica.at_source("insert into t values (2, 'b')")
    replica.settle()
    shutil.rmtree(tmp_path / "trail")
    replica.activate(trail="new")
    replica.at_source("insert into t values (3, 'c')")
    replica.settle()
    late = captured(replica)
    replica.at_source("insert into t values (4, 'd')")
    replica.settle()
    with pytest.raises(DdlReplError, match="REW-101: there is no way back to") as refusal:
        replica.rewind(early)
    assert "the oldest position that works is" in refusal.value.hint
    for onward in (True, False):
        replica.rewind(late, onward=onward)
        assert len(ask(past, "table t")) == 3


def captured(replica: Replica) -> str:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return str(cycle.captured())


def test_a_channel_that_is_not_active(databases: Any, tmp_path: Path) -> None:
    """It is an ordinary activation."""
    replica = new_replica(databases, tmp_path)
    replica.activate(trail="new")
    replica.settle()


def test_one_that_is_well(databases: Any, tmp_path: Path) -> None:
    """Nothing forbids it: every table is loaded again, and nothing comes twice."""
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source("create table t (v int)", "insert into t values (1), (1)")
    replica.activate()
    replica.at_source("insert into t values (2)")
    replica.capture()
    replica.at_source("insert into t values (3)")
    replica.activate(trail="new")
    replica.settle()
    run(replica.source, "insert into t values (1)")
    replica.settle()
    with pytest.raises(TargetError, match="TGT-101"):
        replica.at_target("drop schema ddlrepl cascade")
        replica.replicate()
