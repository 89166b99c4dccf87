"""This module says which columns of its own, by `target_tables` in the channel file, a lake's table can have."""

from __future__ import annotations

from airflow_ddlrepl.engines.held_types.possible_columns import PossibleColumns
from airflow_ddlrepl.engines.lake.types.read_texts import is_read
from airflow_ddlrepl.engines.lake.types.type_system import LAKE_TYPES
from airflow_ddlrepl.notation.condition.expression import Cast, Part
from airflow_ddlrepl.notation.condition.parser import change_value

_WHOLE = frozenset(["integer", "bigint", "text"])
_CASTS = {
    "commit_time": frozenset(["date", "timestamp without time zone", "timestamp with time zone"]),
    "operation": frozenset(["text"]),
    "position": _WHOLE,
    "sequence": _WHOLE,
    "transaction": _WHOLE,
}
"""To which types a value of a change is cast as the source casts it."""


def _is_taken(part: Part) -> bool:
    """Is an expression a value of the change, in a type that a lake casts it to as the source does?"""
    of_change = change_value(part)
    return of_change is not None and (not isinstance(part, Cast) or part.type in _CASTS[of_change.name])


POSSIBLE_COLUMNS = PossibleColumns("a lake", "docs/lakehouse.md", LAKE_TYPES, is_read, _is_taken)
