"""A table comes from a snapshot where its newest one does, through all that is not expired."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_ddlrepl.engines.lake.catalog.metadata import Head, follows, head
from airflow_ddlrepl.engines.lake.connection.files import DiskFiles

FILES = DiskFiles()


def table(folder: Path, current: int | None, *parents: tuple[int, int | None], uuid: str = "u") -> str:
    """A metadata file. parents: each snapshot, numbered as committed, with the one before it."""
    path = folder / f"{uuid}-{current}-{len(parents)}.metadata.json"
    snapshots = [{"snapshot-id": i, "parent-snapshot-id": of, "sequence-number": i} for i, of in parents]
    path.write_text(json.dumps({"table-uuid": uuid, "current-snapshot-id": current, "snapshots": snapshots}))
    return str(path)


LINE = ((1, None), (2, 1), (3, 2), (4, 3))


@pytest.mark.parametrize(
    ("current", "snapshots", "comes"),
    [
        (3, LINE[:3], True),
        (4, LINE, True),
        (4, LINE[3:], True),  # ours is expired
        (5, ((5, 4),), True),  # and what came after it, too
        (2, LINE[:3], False),  # taken back
        (2, LINE[1:2], False),  # and expired
        (4, (*LINE[:3], (4, 2)), False),  # taken back, and written to
        (4, (*LINE[:3], (4, None)), False),  # made again
        (None, (), False),
    ],
)
def test_what_comes_from_the_third_snapshot(
    tmp_path: Path, current: int | None, snapshots: tuple[tuple[int, int | None], ...], *, comes: bool
) -> None:
    ours = head(table(tmp_path, 3, *LINE[:3]), FILES)
    assert ours == Head("u", 3, 3)
    assert follows(table(tmp_path, current, *snapshots), FILES, ours) is comes
    assert not follows(table(tmp_path, 3, *LINE[:3], uuid="another"), FILES, ours)


def test_every_table_comes_from_an_empty_one(tmp_path: Path) -> None:
    empty = head(table(tmp_path, None), FILES)
    assert empty == Head("u", None, 0) and follows(table(tmp_path, 2, *LINE[:2]), FILES, empty)
    assert follows(table(tmp_path, None), FILES, empty)
