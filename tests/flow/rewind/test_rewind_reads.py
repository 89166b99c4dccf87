"""A rewind, and its plan, open those files of the trail that they need, and no others."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.targets import stop_position
from airflow_ddlrepl.flow.targets.stop_position import _surely_before
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.trail.loads import load_folder, loads
from airflow_ddlrepl.trail.manifest import Blob
from airflow_ddlrepl.trail.place import Place
from airflow_ddlrepl.trail.rows import RowReader
from airflow_ddlrepl.trail.segments import manifest_path
from airflow_ddlrepl.trail.store import MARKER
from tests.support.replayable import read, replayable
from tests.support.replica import Replica

ROUNDS = 16


@pytest.fixture
def replica(databases: Any, past: str, tmp_path: Path) -> Replica:
    """Two tables with rows, active."""
    replica = replayable(databases, tmp_path, location=past)
    for name in ("t", "u"):
        replica.at_source(f"CREATE TABLE {name} (id int PRIMARY KEY)", f"INSERT INTO {name} VALUES (0)")
    replica.activate()
    return replica


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of the trail that were opened, by path."""
    found: list[str] = []

    def read_one(place: Place, path: str, then: Any = Place.read) -> Any:
        found.append(path)
        return then(place, path)

    def load_one(reader: RowReader, blob: Blob, then: Any = RowReader._load) -> Any:
        found.append(blob.path)
        return then(reader, blob)

    monkeypatch.setattr(Place, "read", read_one)
    monkeypatch.setattr(RowReader, "_load", load_one)
    return found


def _live(replica: Replica) -> list[tuple[str, str]]:
    """A segment per round with rows of both tables, one of them with a schema change; position and moment of each."""
    points = []
    for number in range(1, ROUNDS + 1):
        replica.at_source(f"INSERT INTO t (id) VALUES ({number})", f"INSERT INTO u VALUES ({number})")
        if number == 3:
            replica.at_source("ALTER TABLE t ADD more int")
        moment = read(replica.source, "SELECT clock_timestamp()")[0][0].isoformat()
        replica.replicate()
        with flow.open_channel(replica.file, InProcess()) as run:
            points.append((str(run.captured()), moment))
    return points


def _files(replica: Replica, to: str) -> dict[str, set[str]]:
    """What the trail has for a rewind of table t to a position, by kind."""
    with flow.open_channel(replica.file, InProcess()) as run:
        (load,) = loads(run.trail, run.epoch)
        (kept,) = (kept for kept in load.tables if kept.table.name.name == "t")
        rows = run.repository.segments("shop", load.position, Position.parse(to))
        window = [run.trail.segment(row.epoch, row.low) for row in rows]
        return {
            "load": {f"{load_folder(load.epoch, load.name)}.json", MARKER},
            "rows of the load": {blob.path for chunk in kept.chunks for blob in chunk},
            "manifests": {manifest_path(one.epoch, one.low) for one in window},
            "rows": {file.path for one in window for file in one.files() if file.name == "t"},
            "told": {manifest_path(row.epoch, row.low) for row in rows if row.events},
            "control": {part.control.path for one in window for part in one.parts if part.control},
            "transactions": {part.transactions.path for one in window[:1] for part in one.parts if part.transactions},
        }


def test_a_rewind_opens_what_lies_in_its_window(replica: Replica, past: str, opened: list[str]) -> None:
    to, _ = _live(replica)[ROUNDS // 2 - 1]
    window = _files(replica, to)
    opened.clear()
    replica.rewind(to, tables=["public.t"])
    assert read(past, "SELECT count(*) FROM t") == [(ROUNDS // 2 + 1,)]
    assert len(window["manifests"]) == len(window["rows"]) == ROUNDS // 2
    assert len(window["control"]) == 1
    assert set(opened) == set().union(*window.values())
    once = window["rows"] | window["rows of the load"]
    assert sorted(path for path in opened if path in once) == sorted(once)


def test_its_plan_opens_no_rows_and_only_the_segments_with_schema_changes(
    replica: Replica, past: str, opened: list[str]
) -> None:
    to, _ = _live(replica)[ROUNDS // 2 - 1]
    window = _files(replica, to)
    opened.clear()
    plan = replica.plan_rewind(to, tables=["public.t"])
    assert plan.segments == ROUNDS // 2
    assert len(window["told"]) == 1
    assert set(opened) == window["load"] | window["told"] | window["control"]


def test_a_moment_is_found_by_halving(
    replica: Replica, past: str, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop_position, "CLOCK_MARGIN", 0)
    points = _live(replica)
    for number, (_, moment) in enumerate(points, 1):
        opened.clear()
        following = 0 if number == ROUNDS else 1  # which begins before its first transaction
        assert replica.plan_rewind(moment, tables=["public.t"]).segments == number + following
        assert len([path for path in opened if path.endswith(".parquet")]) <= 6


def test_moments_that_a_clock_set_back_may_have_told_are_found(replica: Replica, past: str) -> None:
    """All of the trail is of one minute."""
    for number, (_, moment) in enumerate(_live(replica), 1):
        if number % 5 == 1:
            replica.rewind(moment, tables=["public.t"])
            assert read(past, "SELECT count(*) FROM t") == [(number + 1,)]


def test_halving_leaves_out_what_is_surely_before_and_no_more() -> None:
    chance = Random(1)
    for _ in range(500):
        moments = iter(sorted(chance.choices(range(60), k=80)))
        trail = [[next(moments) for _ in range(chance.choice((0, 0, 1, 2, 3)))] for _ in range(chance.randrange(25))]
        wanted = chance.randrange(62)
        tables = [pa.table({"committed": pa.array(held, pa.int64())}) for held in trail]
        found = _surely_before(range(len(trail)), tables.__getitem__, wanted)
        assert all(moment < wanted for held in trail[:found] for moment in held)
        assert next((moment for held in trail[found:] for moment in held[-1:]), wanted) >= wanted
