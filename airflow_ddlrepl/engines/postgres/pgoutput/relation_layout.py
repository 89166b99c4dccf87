"""This module compiles a relation's layout for decoding: it chooses a codec for each column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from airflow_ddlrepl.engines.postgres.connection.escaped import readable_name
from airflow_ddlrepl.engines.postgres.connection.settings import SCHEMA
from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import Codec, binary_codec, text_codec
from airflow_ddlrepl.engines.postgres.pgoutput.control_messages import Relation, RelationColumn
from airflow_ddlrepl.engines.postgres.pgoutput.tuple_offsets import BINARY, TEXT
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.table import Identity
from airflow_ddlrepl.ports.row_layout import ColumnLayout, Layout

FIXED_FIELDS = [
    pa.field("lsn", pa.int64()),
    pa.field("seq", pa.int64()),
    pa.field("op", pa.int8()),
    pa.field("before", pa.int8()),
    pa.field("absent", pa.binary()),
]


class NeedsText(SourceError):
    """This error says that a column's type can't be sent in binary format (SRC-150).

    The window is read again in text format then.
    """


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled layout has what decoding a table's rows needs.

    old_columns: those with old values, by number.
    """

    layout: Layout
    codecs: tuple[Codec, ...]
    old_columns: tuple[int, ...]
    mark: int
    schema: pa.Schema

    @property
    def is_full(self) -> bool:
        """Does the log have whole old rows (REPLICA IDENTITY FULL)?"""
        return self.layout.identity is Identity.FULL


def is_ours(relation: Relation) -> bool:
    """Is it a table of our own helper schema? Its rows are nobody's business."""
    return relation.name.schema == SCHEMA


def compile_layout(relation: Relation, wire_format: str, extra: Mapping[int, int]) -> Compiled:
    """Return the compiled layout of a relation.

    Raises NeedsText in binary format when a column's type isn't safe there.
    """
    codecs = tuple(_codec(relation, c.type_oid, c.name, wire_format, extra) for c in relation.columns)
    columns, old, schema = _compiled(relation.columns, codecs, relation.identity is Identity.FULL)
    layout = Layout(relation.id, relation.name.schema, relation.name.name, relation.identity, columns)
    return Compiled(layout, codecs, old, BINARY if wire_format == "binary" else TEXT, schema)


@lru_cache(1024)
def _compiled(
    columns: tuple[RelationColumn, ...], codecs: tuple[Codec, ...], full: bool
) -> tuple[tuple[ColumnLayout, ...], tuple[int, ...], pa.Schema]:
    """Return the layouts of columns, the numbers of those with old values, and the schema of their rows.

    full: the log has whole old rows. Tables with equal columns share all of it.
    """
    layouts = tuple(
        ColumnLayout(c.name, c.type_oid, c.typmod, c.is_key, codec.encoding)
        for c, codec in zip(columns, codecs, strict=True)
    )
    old = tuple(i for i, c in enumerate(columns) if full or c.is_key)
    names = [readable_name(c.name) for c in columns]
    fields = [pa.field(f"a_{name}", codec.arrow) for name, codec in zip(names, codecs, strict=True)]
    fields += [pa.field(f"b_{names[i]}", codecs[i].arrow) for i in old]
    return layouts, old, pa.schema(FIXED_FIELDS + fields)


def _codec(relation: Relation, oid: int, column: str, wire_format: str, extra: Mapping[int, int]) -> Codec:
    if wire_format != "binary":
        return text_codec(oid)
    codec = binary_codec(oid, extra)
    if codec is None:
        raise NeedsText(
            f"column {column} has a type (oid {oid}) that can't travel in binary format",
            code="SRC-150",
            table=relation.name,
            hint="the window is read again in text format",
        )
    return codec
