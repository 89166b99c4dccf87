"""This module writes defaults of columns in Spark's SQL: a lake's table takes constants alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from airflow_ddlrepl.engines.held_types.type_names import decimal_size
from airflow_ddlrepl.engines.lake.types.literals import constant
from airflow_ddlrepl.engines.lake.types.physical import TEXT, physical
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeKind
from airflow_ddlrepl.sql.translation import Untranslatable

_DAY, _CLOCK = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d:\d\d(?:\.\d{1,6})?"
_NUMBER = r"-?\d{1,15}(?:\.\d{1,10})?"
_TEXTS = {
    "BOOLEAN": r"t|f|true|false",
    "INT": r"-?\d{1,9}",
    "BIGINT": r"-?\d{1,18}",
    "FLOAT": _NUMBER,
    "DOUBLE": _NUMBER,
    "BINARY": r"\\x(?:[0-9a-f]{2})*",
    "DATE": rf"{_DAY}|-?infinity",
    "TIMESTAMP_NTZ": rf"{_DAY} {_CLOCK}|-?infinity",
    "TIMESTAMP": rf"{_DAY} {_CLOCK}[-+]\d\d(?::\d\d)?|-?infinity",
}
_HELD_AS_TEXT = {
    "text": r"(?s:.*)",
    "character varying": r"(?s:.*)",
    "numeric": r"-?\d+(?:\.\d+)?",
    "uuid": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
}
"""Which texts are the same after the source has read them as such a type."""


def translated(column: Column, types: Sequence[TypeDefinition]) -> str:
    """Return a column's default in Spark's SQL. Raises Untranslatable."""
    spark_type = physical(column.type, types)
    text = _constant_text(column.default or "")
    size = decimal_size(spark_type)
    if size is not None:
        text = _digits(text, *size)
    elif not re.fullmatch(_pattern(column.type, spark_type), text):
        raise Untranslatable(f"{text!r} may be another value as {spark_type}")
    return constant(text, spark_type)


def _constant_text(default: str) -> str:
    """Return the text of a constant, without the types that it is cast to."""
    try:
        found = parse_one(default, read="postgres")
    except SqlglotError:
        raise Untranslatable("it is not read") from None
    sign = ""
    while isinstance(found, exp.Cast | exp.Paren | exp.Neg):
        sign = "-" if isinstance(found, exp.Neg) else sign
        found = found.this
    if isinstance(found, exp.Boolean):
        return "true" if found.this else "false"
    if not isinstance(found, exp.Literal):
        raise Untranslatable("a default there is a constant")
    return f"{sign}{found.this}"


def _pattern(of: DataType, spark_type: str) -> str:
    if spark_type != TEXT:
        return _TEXTS[spark_type]
    if of.kind is TypeKind.ENUM:
        return r"(?s:.*)"
    is_plain = of.kind is TypeKind.BASE and of.is_builtin
    return _HELD_AS_TEXT.get(re.sub(r"\(.*\)", "", of.text), "(?!)") if is_plain else "(?!)"


def _digits(text: str, precision: int, scale: int) -> str:
    """Return a number with all digits of its type, where none is rounded away."""
    if not re.fullmatch(r"-?\d{1,38}(?:\.\d{1,38})?", text):
        raise Untranslatable(f"{text!r} is no plain number")
    number = Decimal(text)
    whole = f"{number:.{scale}f}"
    if Decimal(whole) != number or len(re.sub(r"\D", "", whole).lstrip("0")) > precision:
        raise Untranslatable(f"{text!r} has more digits than the column")
    return whole
