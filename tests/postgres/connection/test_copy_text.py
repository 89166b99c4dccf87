"""COPY's text format, written and read without a server."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given as generated
from hypothesis import strategies as st

from airflow_ddlrepl.engines.postgres.connection.copy_text import copy_text, read_copy_text

CELLS = st.lists(
    st.lists(st.none() | st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=2, max_size=2)
)


@generated(CELLS)
def test_copy_reads_back_what_was_written(rows: list[list[str | None]]) -> None:
    """By the rules of COPY's text format."""
    columns = [pa.array([row[number] for row in rows], pa.string()) for number in (0, 1)]
    lines = copy_text(columns, len(rows)).decode().split("\n")
    assert lines.pop() == ""
    assert [[read(cell) for cell in line.split("\t")] for line in lines] == rows


@generated(CELLS, st.integers(1, 9))
def test_rows_of_the_text_format_are_read_block_by_block(rows: list[list[str | None]], size: int) -> None:
    text = copy_text([pa.array([row[number] for row in rows], pa.string()) for number in (0, 1)], len(rows))
    blocks = (text[at : at + size] for at in range(0, len(text), size))
    batches = list(read_copy_text(blocks, ("a", "b")))
    assert [list(row.values()) for batch in batches for row in batch.to_pylist()] == rows
    assert all(batch.schema == pa.schema({"a": pa.string(), "b": pa.string()}) for batch in batches)


def read(cell: str) -> str | None:
    if cell == "\\N":
        return None
    found, at = "", 0
    while at < len(cell):
        step = 2 if cell[at] == "\\" else 1
        found += {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}[cell[at + 1]] if step == 2 else cell[at]
        at += step
    assert "\r" not in cell
    return found


def test_rows_without_columns_are_rows_all_the_same() -> None:
    assert copy_text([], 3) == b"\n\n\n"
    assert [batch.num_rows for batch in read_copy_text([b"\n\n\n"], ())] == [3]
