"""Archived rows of a trail are read without a server, in both formats of COPY."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path

import pyarrow as pa

from airflow_ddlrepl.engines.postgres.load.archived_rows import ArchivedRows, archived_rows
from airflow_ddlrepl.engines.postgres.load.table_rows import BINARY, TEXT
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeKind
from airflow_ddlrepl.ports.change_values import wanted
from airflow_ddlrepl.trail.loads import ChunkWriter, LoadedTable
from airflow_ddlrepl.trail.store import Trail


def archived(folder: Path, *blocks: bytes, is_binary: bool = False) -> ArchivedRows:
    with ChunkWriter(Trail(str(folder), "c").place, "e0/loads/x/1-0") as writer:
        for block in blocks:
            writer.write(block)
        files = writer.close()
    found = ArchivedRows(str(folder), "c", ("id", "v"), (("id", "int4"), ("v", "text")), files, is_binary)
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


def test_the_binary_format_is_read_by_column(tmp_path: Path) -> None:
    values = (4, 1, "a"), (4, 2, None), (4, -3, "")
    lines = [struct.pack(">hii", 2, size, number) + sent(text) for size, number, text in values]
    data = b"PGCOPY\n\xff\r\n\0" + bytes(4) + struct.pack(">i", 2) + b"??" + b"".join(lines) + b"\xff\xff"
    for cut in range(1, len(data)):
        rows = archived(tmp_path, data[:cut], data[cut:], is_binary=True)
        batches = list(rows.batches())
        assert [row for batch in batches for row in batch.to_pylist()] == [
            {"id": "1", "v": "a"},
            {"id": "2", "v": None},
            {"id": "-3", "v": ""},
        ]
    (found,) = rows.typed(pa.schema([wanted("id", pa.int64()), wanted("v", pa.string())]))
    assert found.rows.to_pydict() == {"id": [1, 2, -3], "v": ["a", None, ""]} and not found.unfit
    assert b"".join(rows.native(BINARY) or ()) == data and rows.native(TEXT) is None


def test_values_of_enums_and_domains_are_read_in_the_format_of_what_is_below_them(tmp_path: Path) -> None:
    mood = TypeDefinition(7, "shop", "mood", TypeKind.ENUM, labels=("glad",))
    count = TypeDefinition(8, "shop", "count", TypeKind.DOMAIN, base="integer")
    columns = (
        Column(1, "m", DataType("shop.mood", "shop", "mood", TypeKind.ENUM)),
        Column(2, "n", DataType("shop.count", "shop", "count", TypeKind.DOMAIN)),
    )
    data = (
        b"PGCOPY\n\xff\r\n\0" + bytes(8) + struct.pack(">h", 2) + sent("glad") + struct.pack(">ii", 4, 3) + b"\xff\xff"
    )
    with ChunkWriter(Trail(str(tmp_path), "c").place, "e0/loads/x/1-0") as writer:
        writer.write(data)
        files = writer.close()
    table = Table(1, TableName("shop", "t"), columns, types=(mood, count))
    (rows,) = archived_rows(str(tmp_path), "c", LoadedTable(table, ("m", "n"), True, (files,), 1))
    assert [row for batch in rows.batches() for row in batch.to_pylist()] == [{"m": "glad", "n": "3"}]


def sent(text: str | None) -> bytes:
    return b"\xff\xff\xff\xff" if text is None else struct.pack(">i", len(text)) + text.encode()
