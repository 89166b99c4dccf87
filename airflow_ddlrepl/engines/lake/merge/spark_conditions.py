"""This module writes row conditions as Spark's SQL, for the rows that a lake has already."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from airflow_ddlrepl.engines.lake.connection.quoting import literal, quote
from airflow_ddlrepl.engines.lake.merge.conditions import Rows, read_constant, type_compared
from airflow_ddlrepl.engines.lake.types.physical import physical
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.notation.condition.expression import (
    Among,
    Arithmetic,
    Between,
    Cast,
    Compare,
    IsNull,
    Joined,
    Like,
    Not,
    Part,
    Spelling,
    Text,
)
from airflow_ddlrepl.notation.condition.row_limit import RowLimit


def within(limit: RowLimit, shape: Table) -> str:
    """Return Spark's SQL that is true, or false, for the rows of a target's table which a limit selects."""

    def column(name: str) -> str:
        theirs, ours = limit.columns[name]
        wanted, there = (physical(of.type, shape.types) for of in (theirs, ours))
        return quote(ours.name) if wanted == there else f"CAST({quote(ours.name)} AS {wanted})"

    types = {name: theirs.type for name, (theirs, _) in limit.columns.items()}
    return f"coalesce({_in_spark(limit.condition, Rows({}, types)).sql(Spelling(column, literal))}, false)"


@dataclass(frozen=True, slots=True)
class _Constant(Part):
    """This part is a constant, or a cast, in Spark's SQL."""

    text: str

    def sql(self, by: Spelling) -> str:
        return self.text


def _in_spark(part: Part, rows: Rows) -> Part:
    """Return a part as Spark's SQL has it: constants by their values, so that Spark reads no text of a person's."""

    def pair(one: Part, other: Part) -> Part:
        if isinstance(one, Text):
            return _constant(read_constant(one.value, type_compared(other, rows)))
        return _in_spark(one, rows)

    match part:
        case Compare(left, sign, right):
            return Compare(pair(left, right), sign, pair(right, left))
        case Between(of, low, high, negated):
            return Between(_in_spark(of, rows), pair(low, of), pair(high, of), negated)
        case Among(of, items, negated):
            return Among(_in_spark(of, rows), tuple(pair(one, of) for one in items), negated)
        case Like(of, pattern, negated):
            escaped = re.sub(r"\\([^%_\\])", r"\1", pattern.value)  # Spark takes no backslash that is of no use
            return Like(_in_spark(of, rows), Text(escaped), negated)
        case IsNull(of, negated):
            return IsNull(_in_spark(of, rows), negated)
        case Not(of):
            return Not(_in_spark(of, rows))
        case Joined(word, of):
            return Joined(word, tuple(_in_spark(one, rows) for one in of))
        case Arithmetic(left, sign, right):
            return Arithmetic(_in_spark(left, rows), sign, _in_spark(right, rows))
        case Cast(Text(value), type_):
            return _constant(read_constant(value, column_type(type_)))
        case Cast(of, type_):
            return Cast(_in_spark(of, rows), type_)
        case _:
            return part


def _constant(value: pa.Scalar) -> Part:
    if pa.types.is_date(value.type):
        return _Constant(f"date_from_unix_date({value.cast(pa.int32()).as_py()})")
    if pa.types.is_timestamp(value.type):
        moment = f"timestamp_micros({value.cast(pa.int64()).as_py()})"
        return _Constant(moment if value.type.tz else f"CAST({moment} AS TIMESTAMP_NTZ)")
    if pa.types.is_string(value.type):
        return Text(value.as_py())
    return _Constant(str(value.as_py()).lower())
