"""A damaged trail is found before a row of it is applied, and the file is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.support.refusing import new_replica, refused
from tests.support.replica import Replica


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    """Something is captured that the target does not have yet."""
    made = new_replica(databases, tmp_path)
    made.activate()
    made.at_source("alter table t add column n int", "insert into t select i, 'row', i from generate_series(2, 500) i")
    made.capture()
    return made


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-10])


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (truncate, "TRL-102"),
    (Path.unlink, "TRL-101"),
    (flip, "TRL-103"),
]


@pytest.mark.parametrize("kind", ["*.parquet", "*.jsonl"])
@pytest.mark.parametrize(("damage", "code"), DAMAGES, ids=["truncated", "deleted", "flipped"])
def test_a_damaged_trail_file(replica: Replica, kind: str, damage: Callable[[Path], None], code: str) -> None:
    root = replica.file.parent / "trail" / "shop"
    files = {file: file.read_bytes() for file in root.rglob(kind) if "transactions" not in file.name}
    assert files
    for file in files:
        damage(file)
    error = refused(replica, "replicate", code)
    assert any(str(file.relative_to(root)) in error.message for file in files)
    assert replica.rows("select id, v from t") == [(1, "one")]
    for file, data in files.items():
        file.write_bytes(data)
    replica.settle()


@pytest.mark.parametrize(("damage", "code"), [(Path.unlink, "TRL-101"), (truncate, "TRL-106")], ids=["gone", "cut"])
def test_a_damaged_manifest(replica: Replica, damage: Callable[[Path], None], code: str) -> None:
    (file,) = (replica.file.parent / "trail" / "shop").rglob("segments/*.json")
    data = file.read_bytes()
    damage(file)
    error = refused(replica, "replicate", code)
    assert file.name in str(error), str(error)
    tells_the_damage(replica, code)
    file.write_bytes(data)
    replica.settle()


def tells_the_damage(replica: Replica, code: str) -> None:
    """A status says what can still be told, and what not."""
    with flow.open_channel(replica.file, InProcess()) as run:
        found = flow.status(run)
    told = found.to_json()
    assert [text[: len(code)] for text in told["trail"]["damaged"]] == [code]
    assert told["targets"]["warehouse"]["lag_seconds"] is None and told["trail"]["segments"] == 1
    assert f"trail damaged: {code}" in found.text() and "nobody knows how long behind" in found.text()


def test_the_whole_trail_is_gone(replica: Replica) -> None:
    """Moved away and brought back."""
    trail = replica.file.parent / "trail"
    trail.rename(trail.with_name("elsewhere"))
    assert "ddlrepl activate --new-trail" in refused(replica, "replicate", "TRL-101").hint
    tells_the_damage(replica, "TRL-101")
    shutil.rmtree(trail)
    trail.with_name("elsewhere").rename(trail)
    replica.settle()


def test_somebody_elses_trail(replica: Replica) -> None:
    marker = replica.file.parent / "trail" / "shop" / "trail.json"
    ours = marker.read_text()
    marker.write_text(ours.replace("shop", "other"))
    assert "own trail" in refused(replica, "replicate", "TRL-104").hint
    marker.write_text(ours)
    replica.settle()
