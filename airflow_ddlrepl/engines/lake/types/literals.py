"""This module writes the source's text of a value as a constant of Spark's SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence

from airflow_ddlrepl.engines.held_types.type_names import decimal_size
from airflow_ddlrepl.engines.lake.connection.quoting import literal
from airflow_ddlrepl.engines.lake.types.physical import TEXT, physical
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import TypeDefinition

_ENDS = {
    ("DATE", "infinity"): "DATE '+5881580-07-11'",
    ("DATE", "-infinity"): "DATE '-5877641-06-24'",
    ("TIMESTAMP", "infinity"): "TIMESTAMP '+294247-01-10 04:00:54.775807+00:00'",
    ("TIMESTAMP", "-infinity"): "TIMESTAMP '-290308-12-21 19:59:05.224193+00:00'",
    ("TIMESTAMP_NTZ", "infinity"): "TIMESTAMP_NTZ '+294247-01-10 04:00:54.775807'",
    ("TIMESTAMP_NTZ", "-infinity"): "TIMESTAMP_NTZ '-290308-12-21 19:59:05.224193'",
}
_MOMENT = re.compile(r"(\d{4,})(-\d\d-\d\d)(?: (\d\d:\d\d:\d\d(?:\.\d+)?))?(?:([-+]\d\d)(?::(\d\d))?)?( BC)?")


def value(text: str | None, column: Column, types: Sequence[TypeDefinition] = ()) -> str:
    """Return Spark's SQL for a value of a column whose text at the source is known; None is NULL.

    types: the table's user-defined types.
    """
    spark_type = physical(column.type, types)
    return f"CAST(NULL AS {spark_type})" if text is None else constant(text, spark_type)


def constant(text: str, spark_type: str) -> str:
    """Return Spark's SQL for the source's text of a value. spark_type: Spark's name of its type."""
    if spark_type == TEXT:
        return literal(text)
    if spark_type == "BOOLEAN":
        return "true" if text in ("t", "true") else "false"
    if spark_type in ("INT", "BIGINT"):
        return str(int(text))
    if decimal_size(spark_type) is not None:
        return text
    if spark_type == "BINARY":
        return f"X'{text.removeprefix(chr(92) + 'x')}'"
    if (spark_type, text) in _ENDS:
        return _ENDS[spark_type, text]
    if found := _MOMENT.fullmatch(text):
        return f"{spark_type} '{_moment(found)}'"
    return f"CAST({literal(text)} AS {spark_type})"


def _moment(found: re.Match[str]) -> str:
    year, day, clock, hours, minutes, before = found.groups()
    number = 1 - int(year) if before else int(year)
    sign = "-" if number < 0 else "+" if number > 9999 else ""
    zone = f"{hours}:{minutes or '00'}" if hours else ""
    return f"{sign}{abs(number):04}{day}{f' {clock}' if clock else ''}{zone}"
