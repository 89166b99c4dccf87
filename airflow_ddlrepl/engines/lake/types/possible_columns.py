"""This module refuses what `target_tables` in the channel file gives a table, and what a lake can't have."""

from __future__ import annotations

from airflow_ddlrepl.engines.lake.types.physical import physical
from airflow_ddlrepl.engines.lake.types.read_texts import is_read
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.settings.table_settings import OwnColumns
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.notation.condition.expression import Cast
from airflow_ddlrepl.notation.condition.parser import change_value, expression

_WHOLE = frozenset(["integer", "bigint", "text"])
_CASTS = {
    "commit_time": frozenset(["date", "timestamp without time zone", "timestamp with time zone"]),
    "operation": frozenset(["text"]),
    "position": _WHOLE,
    "sequence": _WHOLE,
    "transaction": _WHOLE,
}
"""To which types a value of a change is cast as the source casts it."""


def require_possible(own: OwnColumns, table: Table) -> None:
    """Raise Unsupported ADP-164 for a type that a lake does not read texts as, and for what else it can't have."""
    for name, text in own.types.items():
        if not is_read(of := column_type(text)):
            raise Unsupported(
                f"`types` in `target_tables` gives column {name} the type {of.text}, which a lake does not read",
                code="ADP-164",
                table=table.name,
                hint="choose text, or a type that it has: numeric(p,s) with p up to 38, a moment of six digits"
                " (docs/lakehouse.md)",
            )
    if own.discards and (
        floats := [c.name for c in table.key_columns() if physical(c.type, table.types) in ("FLOAT", "DOUBLE")]
    ):
        raise Unsupported(
            f"rows with a key of floating point can't wait in the queue of a lake: {', '.join(floats)}",
            code="ADP-164",
            table=table.name,
            hint="choose another `coerce_error_policy` in `target_tables`",
        )
    if computed := [name for name, text in own.extra.items() if not _is_taken(text)]:
        raise Unsupported(
            f"a lake does not compute columns: {', '.join(computed)}",
            code="ADP-164",
            table=table.name,
            hint="take them out of `extra` in `target_tables`, or compute them in a view",
        )


def _is_taken(text: str) -> bool:
    """Is an expression a value of the change, in a type that a lake casts it to as the source does?"""
    part = expression(text)
    of_change = change_value(part)
    return of_change is not None and (not isinstance(part, Cast) or part.type in _CASTS[of_change.name])
