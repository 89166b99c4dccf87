"""Whole tables in the trail: files that a reader can hold, manifests that never change."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from airflow_ddlrepl.trail.loads import ChunkWriter, load_folder
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
