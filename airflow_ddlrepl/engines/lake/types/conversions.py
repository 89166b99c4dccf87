"""This module says which values of a type are, as another type, certainly what the source's own conversion gives.

Iceberg has no such change of a type: the column gets a new field, with these values.
"""

from __future__ import annotations

from airflow_ddlrepl.engines.held_types.type_names import decimal_size
from airflow_ddlrepl.engines.held_types.type_system import is_any_text
from airflow_ddlrepl.engines.lake.types.physical import physical
from airflow_ddlrepl.model.types import DataType

_DIGITS = {"INT": 10, "BIGINT": 19}
_PLAIN_SCALE = 6
"""With more digits behind the point there are several ways to write a small number."""


def converted(column: str, old: DataType, new: DataType) -> str | None:
    """Return Spark's SQL for the values of a quoted column as another type; None: it is not certain to be the source's.

    Both round halves away from zero, and refuse what the new type can't hold.
    """
    if not (old.is_builtin and new.is_builtin):
        return None
    before, after = physical(old), physical(new)
    size, into = decimal_size(before), decimal_size(after)
    is_number = before in _DIGITS or size is not None
    if is_any_text(new):
        is_certain = before in (*_DIGITS, "BOOLEAN") or (size is not None and size[1] <= _PLAIN_SCALE)
        return f"CAST({column} AS STRING)" if is_certain else None
    if is_number and into is not None:
        return f"CAST({column} AS {after})"
    if before in _DIGITS and after in (*_DIGITS, "DOUBLE"):
        return f"CAST({column} AS {after})"
    if size is not None and after in _DIGITS:
        return f"CAST(round({column}, 0) AS {after})"
    return None


def is_lossless(old: DataType, new: DataType) -> bool:
    """Does every value of a type stay the same one by `converted`?"""
    before, after = physical(old), physical(new)
    size, into = decimal_size(before), decimal_size(after)
    if into is None:
        return before in _DIGITS and is_any_text(new) and new.is_builtin
    digits, places = size or (_DIGITS.get(before, into[0] + 1), 0)
    return into[1] >= places and into[0] - into[1] >= digits - places
