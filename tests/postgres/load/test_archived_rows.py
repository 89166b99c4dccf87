"""Archived rows of a trail are read without a server, where they are text."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from airflow_ddlrepl.engines.postgres.load.archived_rows import ArchivedRows
from airflow_ddlrepl.engines.postgres.load.table_rows import BINARY, TEXT
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.trail.loads import ChunkWriter
from airflow_ddlrepl.trail.store import Trail


def archived(folder: Path, *blocks: bytes, is_binary: bool = False) -> ArchivedRows:
    with ChunkWriter(Trail(str(folder), "c").place, "e0/loads/x/1-0") as writer:
        for block in blocks:
            writer.write(block)
        files = writer.close()
    found = ArchivedRows(str(folder), "c", TableName("public", "t"), ("id", "v"), files, is_binary)
    assert str(folder) not in repr(found)
    return pickle.loads(pickle.dumps(found))  # type: ignore[no-any-return]


def test_text_is_read_by_column(tmp_path: Path) -> None:
    rows = archived(tmp_path, b"1\ta\\tb\n2\t", b"\\N\n3\t\n")
    assert [row for batch in rows.batches() for row in batch.to_pylist()] == [
        {"id": "1", "v": "a\tb"},
        {"id": "2", "v": None},
        {"id": "3", "v": ""},
    ]
    assert b"".join(rows.native(TEXT) or ()) == b"1\ta\\tb\n2\t\\N\n3\t\n"
    assert rows.native(BINARY) is None and rows.size > 0


def test_the_binary_format_is_for_postgresql(tmp_path: Path) -> None:
    rows = archived(tmp_path, b"PGCOPY\n", is_binary=True)
    assert b"".join(rows.native(BINARY) or ()) == b"PGCOPY\n" and rows.native(TEXT) is None
    with pytest.raises(CannotAdapt, match=r"REW-110.*public\.t"):
        list(rows.batches())
