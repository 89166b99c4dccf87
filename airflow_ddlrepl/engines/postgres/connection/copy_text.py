"""This module writes rows of Arrow strings in COPY's text format, and reads them back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

_ESCAPES = (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_AS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def copy_text(columns: Sequence[pa.Array], rows: int) -> bytes:
    """Return rows in the text format of COPY.

    columns: strings. rows: how many there are.
    """
    if not columns:
        return b"\n" * rows
    cells = [_cells(column) for column in columns]
    lines = pc.binary_join_element_wise(*cells, "\t") if len(cells) > 1 else cells[0]
    return "\n".join((*lines.to_pylist(), "")).encode()


def _cells(column: pa.Array) -> pa.Array:
    for plain, escaped in _ESCAPES:
        column = pc.replace_substring(column, plain, escaped)
    return pc.fill_null(column, "\\N")


def read_copy_text(blocks: Iterable[bytes], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that a COPY wrote in its text format, as batches of strings."""
    rest = b""
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        if lines:
            yield _batch([line.decode() for line in lines], columns)


def _batch(lines: Sequence[str], columns: Sequence[str]) -> pa.RecordBatch:
    if not columns:
        return pa.RecordBatch.from_pydict({"": pa.nulls(len(lines), pa.string())}).select([])
    cells = zip(*(line.split("\t") for line in lines), strict=True)
    arrays = [pa.array([_value(cell) for cell in column], pa.string()) for column in cells]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _value(cell: str) -> str | None:
    if "\\" not in cell:
        return cell
    return None if cell == "\\N" else _ESCAPED.sub(lambda found: _ESCAPED_AS.get(found[1], found[1]), cell)
