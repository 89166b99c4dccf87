"""ALTER COLUMN … SET EXPRESSION, DROP EXPRESSION."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.base.edit import edit_column, shared_columns
from airflow_ddlrepl.ddl.columns.column_order import in_the_way
from airflow_ddlrepl.ddl.sql.lexer import canonical
from airflow_ddlrepl.model.table import Column, Table


@dataclass(frozen=True, slots=True)
class ChangeGenerated(TableChange):
    """How the column gets its values: generated is "stored", "virtual" or "", expression belongs to it."""

    kind: ClassVar[str] = "change_generated"
    id: int
    name: str
    old: Column
    generated: str
    expression: str | None

    def alter(self, table: Table) -> Table:
        return edit_column(table, self.id, generated=self.generated, default=self.expression)

    def describe(self) -> str:
        return f"{self.name} {_say(self.old.generated, self.old.default)} -> {_say(self.generated, self.expression)}"


def _expression(column: Column) -> str | None:
    return column.default if column.generated else None


def _compared(column: Column) -> str:
    return canonical(_expression(column) or "")


def _say(generated: str, expression: str | None) -> str:
    return f"{generated} {expression}" if generated else "plain"


def spot(old: Table, new: Table) -> Iterator[ChangeGenerated]:
    """Columns that are generated before or after, and differ in how."""
    for before, after in shared_columns(old, new):
        if (before.generated, _compared(before)) != (after.generated, _compared(after)):
            yield ChangeGenerated(after.id, after.name, before, after.generated, _expression(after))


def spot_in_the_way(old: Table, new: Table) -> Iterator[ChangeGenerated]:
    """Columns that become plain for a while, so that what they are computed from can change; `spot` ends it."""
    for now in in_the_way(old, new):
        before = old.column(now.id)
        yield ChangeGenerated(now.id, before.name, before, "", None)


def spot_dropped(old: Table, new: Table) -> Iterator[ChangeGenerated]:
    """Columns that become plain: before their type, default or inputs change."""
    yield from (change for change in spot(old, new) if not change.generated)
