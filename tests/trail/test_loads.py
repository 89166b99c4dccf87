"""Whole tables in the trail: files that a reader can hold, manifests that never change."""

from __future__ import annotations

import gc
from datetime import UTC, datetime
from pathlib import Path

import pytest

from airflow_ddlrepl.engines.postgres.pgoutput.xid_snapshot import XidSnapshot
from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.trail.loads import ChunkWriter, Load, load_folder, load_name, loads, publish, remove
from airflow_ddlrepl.trail.place import Place
from airflow_ddlrepl.trail.store import Trail

FOLDER = load_folder(0, "0000000000000064-1-warehouse")


def test_a_chunk_that_fails_lets_go_of_its_file(tmp_path: Path) -> None:
    """What is written later, when its stream is collected, would go into a file that has been swept."""
    trail = Trail(str(tmp_path), "shop")
    with pytest.raises(RuntimeError), ChunkWriter(trail.place, f"{FOLDER}/1-0") as writer:
        writer.write(b"rows" * 1000)
        raise RuntimeError
    (path,) = trail.place.walk(FOLDER)
    size = trail.place.size(path)
    del writer
    gc.collect()
    assert trail.place.size(path) == size


def test_a_chunk_that_was_closed_is_whole(tmp_path: Path) -> None:
    trail = Trail(str(tmp_path), "shop")
    with ChunkWriter(trail.place, f"{FOLDER}/1-0") as writer:
        writer.write(b"rows" * 1000)
        (blob,) = writer.close()
    trail.verify(blob)


def test_a_manifest_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes or goes is seen all the same; another process reads for itself."""
    trail = Trail(str(tmp_path), "shop")
    first, second = load(100), load(200)
    read: list[str] = []
    really = Place.read

    def noted(place: Place, path: str) -> bytes | None:
        read.append(path)
        return really(place, path)

    monkeypatch.setattr(Place, "read", noted)
    publish(trail, first)
    assert loads(trail, 0) == loads(trail, 0) == [first]
    publish(trail, second)
    assert loads(trail, 0) == [first, second]
    assert [path.rpartition("/")[2] for path in read] == [f"{first.name}.json", f"{second.name}.json"]
    remove(trail, first)
    assert loads(trail, 0) == [second]
    assert loads(Trail(str(tmp_path), "shop"), 0) == [second]


def test_a_manifest_that_is_damaged_is_told_each_time(tmp_path: Path) -> None:
    trail = Trail(str(tmp_path), "shop")
    publish(trail, load(100))
    (path,) = trail.place.walk("e0/loads")
    Path(trail.place.full(path)).write_text("{}")
    for _ in range(2):
        with pytest.raises(TrailError, match="TRL-106"):
            loads(trail, 0)


def load(position: int) -> Load:
    at = Position(position)
    snapshot = XidSnapshot(1, 2, frozenset(), Position(0), at)
    return Load(0, load_name(at, 1, "warehouse"), at, snapshot, datetime(2026, 1, 1, tzinfo=UTC), ())
