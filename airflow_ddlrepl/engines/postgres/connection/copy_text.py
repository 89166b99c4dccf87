"""This module writes rows of Arrow strings in COPY's text format, and reads them back."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

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
            yield _batch(lines, columns)


def _batch(lines: Sequence[bytes], columns: Sequence[str]) -> pa.RecordBatch:
    if not columns:
        return pa.RecordBatch.from_pydict({"": pa.nulls(len(lines), pa.string())}).select([])
    text = io.BytesIO(b"\n".join((*lines, b"")))
    names = [str(place) for place in range(len(columns))]
    read = csv.ReadOptions(column_names=names, use_threads=False, block_size=max(text.getbuffer().nbytes, 1) + 1)
    parse = csv.ParseOptions(delimiter="\t", quote_char=False, escape_char=False, ignore_empty_lines=False)
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), null_values=["\\N"], strings_can_be_null=True
    )
    found = csv.read_csv(text, read, parse, convert).combine_chunks()
    arrays = [_unescaped(column.combine_chunks()) for column in found.columns]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _unescaped(column: pa.Array) -> pa.Array:
    """Return the values of a column as they were before COPY escaped them."""
    escaped = pc.fill_null(pc.match_substring(column, "\\"), False)
    if not pc.any(escaped).as_py():
        return column
    values = [_ESCAPED.sub(_plain, one.as_py()) for one in column.filter(escaped)]
    return pc.replace_with_mask(column, escaped, pa.array(values, pa.string()))


def _plain(found: re.Match[str]) -> str:
    return _ESCAPED_AS.get(found[1], found[1])
