"""This module answers row conditions over Arrow values, without Java; `spark_conditions` writes them as Spark's SQL.

What a lake may answer otherwise than the source is refused: a load takes its rows at the source by the same condition,
so an answer that differs would lose rows in silence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.lake.types.arrow import arrow_type
from airflow_ddlrepl.engines.lake.types.physical import TEXT, physical
from airflow_ddlrepl.engines.lake.types.read_texts import read
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType
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
    Minus,
    Named,
    Not,
    Number,
    Part,
    Text,
    Truth,
)
from airflow_ddlrepl.notation.condition.parser import is_constant, spelled

_WHOLE = frozenset(["INT", "BIGINT"])
_ALIKE = _WHOLE | {"BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ"}
"""The types, besides DECIMAL, whose values are compared here as at the source."""
_TEXTS = frozenset(["text", "character varying"])
_CASTS = ("smallint", "integer", "bigint")
_CONSTANT_CASTS = frozenset([*_CASTS, "boolean", "text", "date", "timestamp without time zone"]) | {
    "timestamp with time zone"
}
_BIGINT, _TEXT = column_type("bigint"), column_type("text")


class Unanswered(Exception):
    """This exception says why a condition has no answer here."""


@dataclass(frozen=True, slots=True)
class Rows:
    """These are the rows that a condition is asked of. values: of its columns, by name. types: the source's."""

    values: Mapping[str, pa.ChunkedArray | pa.Array]
    types: Mapping[str, DataType]


def true_rows(condition: Part, rows: Rows) -> pa.ChunkedArray | pa.Array:
    """Return for which rows a condition is true; NULL is not true. Raises Unanswered."""
    try:
        return pc.fill_null(_value(condition, rows), False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise Unanswered(" ".join(str(error).split())) from None


def require_readable(condition: Part, table: Table, columns: Sequence[Column]) -> None:
    """Raise Unsupported ADP-148 unless a lake answers the condition as the source does. No row is read."""
    why = why_unlike(condition, columns)
    if not why:
        nulls = {one.name: pa.nulls(1, arrow_type(physical(one.type, table.types))) for one in columns}
        try:
            true_rows(condition, Rows(nulls, {one.name: one.type for one in columns}))
        except Unanswered as error:
            why = str(error)
    if why:
        raise Unsupported(
            f"a lake does not read the condition {spelled(condition)} as the source does: {why}",
            code="ADP-148",
            table=table.name,
            hint="correct the condition in `restrict`; docs/lakehouse.md has what can be in one",
        )


def why_unlike(condition: Part, columns: Sequence[Column]) -> str:
    """Return why a lake may answer otherwise than the source; empty: it does not. columns: that the condition names."""
    by_name = {column.name: column for column in columns}
    return next((why for part in condition.walk() for why in _unlike(part, by_name)), "")


def _unlike(part: Part, columns: Mapping[str, Column]) -> Iterator[str]:
    if not isinstance(part, IsNull):
        for one in part.parts:
            if isinstance(one, Named) and not _is_alike(columns[one.name]):
                yield f"values of {one.name} ({columns[one.name].type.text}) are compared otherwise in a lake"
    if any(isinstance(one, Text) for one in part.parts) and not isinstance(part, Cast):
        for one in part.parts:
            if isinstance(one, Named) and physical(columns[one.name].type).startswith("DECIMAL"):
                yield f"a text is rounded before it is compared with {one.name}: write a number without quotes"
    if isinstance(part, Number) and "e" in part.digits:
        yield f"{part.digits} is rounded: write its digits"
    is_sum = isinstance(part, Arithmetic) or (isinstance(part, Minus) and not isinstance(part.of, Number))
    if is_sum and not all(_is_whole(one, columns) for one in part.parts):
        yield f"a lake computes with whole numbers alone: {spelled(part)}"
    if isinstance(part, Cast):
        is_constant_cast = is_constant(part.of) and part.type in _CONSTANT_CASTS and not isinstance(part.of, Number)
        if not (is_constant_cast or (part.type in _CASTS and _is_whole(part.of, columns))):
            yield f"a lake casts {spelled(part.of)} to {part.type} otherwise"


def _is_alike(column: Column) -> bool:
    of = physical(column.type)
    if of == TEXT:
        return column.type.is_builtin and re.sub(r"\(.*\)", "", column.type.text).strip() in _TEXTS
    return of in _ALIKE or of.startswith("DECIMAL")


def _is_whole(part: Part, columns: Mapping[str, Column]) -> bool:
    match part:
        case Named(name):
            return physical(columns[name].type) in _WHOLE
        case Number(digits):
            return digits.isdecimal()
        case Cast(_, type_):
            return type_ in _CASTS
        case Arithmetic() | Minus():
            return all(_is_whole(one, columns) for one in part.parts)
        case _:
            return False


def _value(part: Part, rows: Rows) -> pa.ChunkedArray | pa.Array | pa.Scalar:
    """Return the values of a part, one for each row, or one for all."""
    match part:
        case Named(name):
            return rows.values[name]
        case Truth(value):
            return pa.scalar(value)
        case Number(digits):
            return pa.scalar(int(digits)) if digits.isdecimal() else read_constant(digits, _decimal_type(digits))
        case Text(value):
            return pa.scalar(value)
        case Minus(of):
            return pc.negate_checked(_value(of, rows))
        case Cast(of, type_):
            return _cast(of, type_, rows)
        case Arithmetic(left, sign, right):
            return _computed(sign, _whole(_value(left, rows)), _whole(_value(right, rows)))
        case _:
            return _truth(part, rows)


def _truth(part: Part, rows: Rows) -> pa.ChunkedArray | pa.Array | pa.Scalar:
    match part:
        case Compare(left, sign, right):
            return _compared(sign, *_both(left, right, rows))
        case Between(of, low, high, negated):
            bounds = pc.and_kleene(
                _compared(">=", *_both(of, low, rows)), _compared("<=", *_both(of, high, rows))
            )  # fmt: skip
            return pc.invert(bounds) if negated else bounds
        case Among(of, items, negated):
            found = reduce(pc.or_kleene, [_compared("=", *_both(of, item, rows)) for item in items])
            return pc.invert(found) if negated else found
        case IsNull(of, negated):
            found = pc.is_null(_value(of, rows))
            return pc.invert(found) if negated else found
        case Like(of, pattern, negated):
            found = pc.match_substring_regex(_value(of, rows), _pattern(pattern.value))
            return pc.invert(found) if negated else found
        case Not(of):
            return pc.invert(_value(of, rows))
        case Joined(word, of):
            join: Callable[..., pa.Array] = pc.and_kleene if word == "AND" else pc.or_kleene
            return reduce(join, [_value(one, rows) for one in of])
        case _:
            raise Unanswered(f"a lake has no answer to {spelled(part)}")


_COMPARED = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def _compared(sign: str, left: pa.Array | pa.Scalar, right: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    if sign in _COMPARED:
        return _COMPARED[sign](left, right)
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    same = pc.or_(pc.fill_null(pc.equal(left, right), False), both_null)
    return same if sign == "IS NOT DISTINCT FROM" else pc.invert(same)


def _both(left: Part, right: Part, rows: Rows) -> tuple[pa.Array | pa.Scalar, pa.Array | pa.Scalar]:
    """Return the values of two parts that are compared; a constant in quotes is read as the other one's type."""
    values = [_value(one, rows) for one in (left, right)]
    for place, (one, other) in enumerate(((left, right), (right, left))):
        if isinstance(one, Text) and not isinstance(other, Text):
            values[place] = read_constant(one.value, type_compared(other, rows))
    return values[0], values[1]


def type_compared(part: Part, rows: Rows) -> DataType:
    """Return the type as which a constant in quotes is read that is compared with a part."""
    match part:
        case Named(name):
            return _TEXT if physical(rows.types[name]) == TEXT else rows.types[name]
        case Cast(_, type_):
            return column_type(type_)
        case Truth():
            return column_type("boolean")
        case Text():
            return _TEXT
        case _:
            return _BIGINT


def read_constant(text: str, of: DataType) -> pa.Scalar:
    """Return the value of a constant. Raises Unanswered where it is none of the type."""
    found = read(pa.array([text]), Column(1, "constant", of))[0]
    if not found.is_valid:
        raise Unanswered(f"'{text}' is no {of.text}")
    return found


def _decimal_type(digits: str) -> DataType:
    return column_type(f"numeric({len(digits)},{len(digits.partition('.')[2])})")


def _cast(of: Part, type_: str, rows: Rows) -> pa.ChunkedArray | pa.Array | pa.Scalar:
    if isinstance(of, Text):
        return read_constant(of.value, column_type(type_))
    value = _value(of, rows)
    wanted = arrow_type(physical(column_type(type_)))
    if type_ == "smallint":
        value = value.cast(pa.int16())
    return value.cast(wanted)


def _computed(sign: str, left: pa.Array | pa.Scalar, right: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    if sign == "%":  # the sign is that of the left number, as at the source
        return pc.subtract_checked(left, pc.multiply_checked(pc.divide_checked(left, right), right))
    return {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}[sign](left, right)


def _whole(values: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    return values.cast(pa.int64())


def _pattern(like: str) -> str:
    """Return the regular expression of a pattern of LIKE, in which a backslash stands before a character as it is."""
    found, characters = [], iter(like)
    for one in characters:
        found.append({"%": ".*", "_": "."}.get(one) or re.escape(next(characters) if one == "\\" else one))
    return rf"(?s)\A{''.join(found)}\z"
