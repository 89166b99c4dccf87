"""This module shows PostgreSQL's values as Arrow values: numbers, texts, dates and moments with types of their own."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.types.families import family, plain_name
from airflow_ddlrepl.engines.postgres.types.numerics import MAX_DIGITS
from airflow_ddlrepl.engines.postgres.types.sent_values import (
    iso_intervals,
    native_texts,
    read_native,
    read_sent,
    sent_texts,
)
from airflow_ddlrepl.engines.postgres.types.text_values import Fitted, read_texts
from airflow_ddlrepl.engines.postgres.types.underlying import underlying
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import Family, TypeDefinition
from airflow_ddlrepl.ports.change_values import ChangeValues, Converted, has_ends

_TYPES = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}
_NUMBERS = (Family.INT, Family.FLOAT, Family.DECIMAL)
_EXACT_TEXT = frozenset(
    ("bool", "int2", "int4", "int8", "numeric", "uuid", "json", "jsonb", "name", "inet", "cidr", "enum")
) | {"text", "varchar", "bpchar"}


class PostgresValues(ChangeValues):
    """These change values are those of PostgreSQL's types."""

    def shown_type(self, column: Column, types: Sequence[TypeDefinition] = ()) -> pa.DataType:
        name, _ = underlying(column.type, types)
        if name == "numeric":
            of = family(column.type, tuple(types))
            precision, scale = of.precision or 0, of.scale or 0
            fits = precision <= MAX_DIGITS and 0 <= scale <= precision
            return pa.decimal128(precision, scale) if precision and fits else pa.string()
        return _TYPES.get(name, pa.string())

    def is_number(self, column: Column, types: Sequence[TypeDefinition] = ()) -> bool:
        return family(column.type, tuple(types)).kind in _NUMBERS

    def has_exact_text(self, column: Column, types: Sequence[TypeDefinition] = ()) -> bool:
        return underlying(column.type, types)[0] in _EXACT_TEXT

    def converted(
        self, values: pa.Array, encoding: str, column: Column, wanted: pa.Field, types: Sequence[TypeDefinition] = ()
    ) -> Converted:
        return converted(values, encoding, plain_name(column.type.text, types), wanted)

    def shown(
        self,
        values: pa.Array,
        encoding: str,
        column: Column,
        as_type: pa.DataType,
        types: Sequence[TypeDefinition] = (),
    ) -> pa.Array:
        if pa.types.is_boolean(values.type) and pa.types.is_string(as_type):
            return values.cast(as_type)  # as a cast to text writes it: true, where the type itself writes t
        if encoding == "binary" and pa.types.is_string(as_type) and underlying(column.type, types)[0] == "interval":
            return iso_intervals(values)
        return super().shown(values, encoding, column, as_type, types)


def converted(values: pa.Array, encoding: str, name: str, wanted: pa.Field) -> Converted:
    """Return the values of a column as `ChangeValues.converted` documents. name: of their type, by `plain_name`."""
    with_ends = has_ends(wanted)
    if pa.types.is_string(values.type) and not pa.types.is_string(wanted.type):
        own = _of_32_bits(wanted.type) if name.startswith("float4") else wanted.type
        found = read_texts(values, own, with_ends=with_ends)
        if own != wanted.type:
            found = Fitted(found.values.cast(wanted.type), found.bad)
    else:
        read = read_sent if encoding == "binary" else read_native
        found = read(values, name, wanted.type, with_ends=with_ends)
    if found.bad is None:
        return Converted(found.values)
    bad = pa.array(found.bad)
    write = sent_texts if encoding == "binary" else native_texts
    texts = pc.replace_with_mask(pa.nulls(len(values), pa.string()), bad, write(values.filter(bad), name))
    return Converted(found.values, texts)


def _of_32_bits(as_type: pa.DataType) -> pa.DataType:
    """Return the type whose floats have 32 bits: the text of a real is another number in 64 bits."""
    if pa.types.is_list(as_type):
        return pa.list_(_of_32_bits(as_type.value_type))
    return pa.float32() if pa.types.is_float64(as_type) else as_type


POSTGRES_VALUES = PostgresValues()
