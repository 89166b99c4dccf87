"""This module reads constants of Spark's SQL that are plainly one value: Spark takes a tenth of a second for each."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.held_types.type_names import decimal_size

if TYPE_CHECKING:
    from sqlglot import exp

_MOMENT = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
_TEXTS = {
    "INT": r"-?\d{1,9}",
    "BIGINT": r"-?\d{1,18}",
    "DATE": r"\d{4}-\d\d-\d\d",
    "TIMESTAMP": rf"{_MOMENT}[-+]\d\d:\d\d",
    "TIMESTAMP_NTZ": _MOMENT,
}

_YEARS_OF_READERS = re.compile(r"(?!0000)\d{4}-")
"""Of these years are the dates and moments that every reader takes from a table's metadata."""


def is_told_to_readers(default: exp.Expression, spark_type: str) -> bool:
    """Return whether every reader reads a constant from a table's metadata: no infinite ones, no far years."""
    from sqlglot import exp

    literal = default.find(exp.Literal)
    text = "" if literal is None else str(literal.this)
    if spark_type in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"):
        return _YEARS_OF_READERS.match(text) is not None
    return spark_type not in ("FLOAT", "DOUBLE") or text[-1:].isdigit()


def plain_value(default: exp.Expression, spark_type: str) -> str | int | bool | None:
    """Return what Iceberg reads a constant of a type from; None: Spark has to say. spark_type: Spark's name of it."""
    from sqlglot import exp

    found, sign = default, ""
    while isinstance(found, exp.Cast | exp.Neg):
        sign = "-" if isinstance(found, exp.Neg) else sign
        found = found.this
    if isinstance(found, exp.Boolean):
        return bool(found.this) if spark_type == "BOOLEAN" else None
    if not isinstance(found, exp.Literal):
        return None
    text = f"{sign}{found.this}"
    if spark_type == "STRING":
        return text if found is default and "\\" not in text else None
    if (size := decimal_size(spark_type)) is not None:
        is_exact = re.fullmatch(r"-?\d{1,38}(?:\.\d+)?", text) and len(text.partition(".")[2]) <= size[1]
        return f"{Decimal(text):.{size[1]}f}" if is_exact else None
    if not re.fullmatch(_TEXTS.get(spark_type, "(?!)"), text):
        return None
    return int(text) if spark_type in ("INT", "BIGINT") else text.replace(" ", "T")
