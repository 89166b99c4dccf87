"""This module refuses what `target_tables` in the channel file gives a table, and what a target of held types lacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from airflow_ddlrepl.engines.held_types.type_system import HeldTypes
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.settings.table_settings import OwnColumns
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.notation.condition.parser import expression


@dataclass(frozen=True, slots=True)
class PossibleColumns:
    """These rules say which columns of its own a target can have.

    place, page: what it is called, and where its types are described. is_read: does it read texts as values of a type?
    is_taken: has it the value of an expression without computing it?
    """

    place: str
    page: str
    types: HeldTypes
    is_read: Callable[[DataType], bool]
    is_taken: Callable[[Part], bool]

    def require(self, own: OwnColumns, table: Table) -> None:
        """Raise Unsupported ADP-164 for a type that it does not read texts as, and for what else it can't have."""
        for name, text in own.types.items():
            if not self.is_read(of := column_type(text)):
                raise Unsupported(
                    f"`types` in `target_tables` gives column {name} the type {of.text}, which {self.place} does not"
                    " read",
                    code="ADP-164",
                    table=table.name,
                    hint="choose text, or a type that it has: numeric(p,s) with p up to 38, a moment of six digits"
                    f" ({self.page})",
                )
        names = {c.name: self.types.type_name(c.type, table.types) for c in table.key_columns()}
        if own.discards and (floats := [name for name, of in names.items() if of in ("FLOAT", "DOUBLE")]):
            raise Unsupported(
                f"rows with a key of floating point can't wait in the queue of {self.place}: {', '.join(floats)}",
                code="ADP-164",
                table=table.name,
                hint="choose another `coerce_error_policy` in `target_tables`",
            )
        if computed := [name for name, text in own.extra.items() if not self.is_taken(expression(text))]:
            raise Unsupported(
                f"{self.place} does not compute columns: {', '.join(computed)}",
                code="ADP-164",
                table=table.name,
                hint="take them out of `extra` in `target_tables`, or compute them in a view there",
            )
