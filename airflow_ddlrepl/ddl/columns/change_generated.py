"""ALTER COLUMN … SET EXPRESSION, DROP EXPRESSION change how a column is generated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.base.edit import edit_column, shared_columns
from airflow_ddlrepl.ddl.columns.column_order import blocking_columns
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.sql.lexer import canonical


@dataclass(frozen=True, slots=True)
class ChangeGenerated(TableChange):
    """This change makes a column generated, makes it plain, or sets another generation expression.

    generated: "stored", "virtual" or "" afterwards. expression: the generation expression that belongs to it.
    """

    kind: ClassVar[str] = "change_generated"
    id: int
    name: str
    old: Column
    generated: str
    expression: str | None

    def alter(self, table: Table) -> Table:
        """Return the table with the column generated in the new way."""
        return edit_column(table, self.id, generated=self.generated, default=self.expression)

    def describe(self) -> str:
        """Return the column's name and how its values come about before and after."""
        return f"{self.name} {_text(self.old.generated, self.old.default)} -> {_text(self.generated, self.expression)}"


def _expression(column: Column) -> str | None:
    return column.default if column.generated else None


def _compared(column: Column) -> str:
    return canonical(_expression(column) or "")


def _text(generated: str, expression: str | None) -> str:
    return f"{generated} {expression}" if generated else "plain"


def spot(old: Table, new: Table) -> Iterator[ChangeGenerated]:
    """Yield a change for each column that is generated in one of the shapes, and not in the same way in both."""
    for before, after in shared_columns(old, new):
        if (before.generated, _compared(before)) != (after.generated, _compared(after)):
            yield ChangeGenerated(after.id, after.name, before, after.generated, _expression(after))


def spot_blocking(old: Table, new: Table) -> Iterator[ChangeGenerated]:
    """Yield changes that make generated columns plain until the columns they are computed from have changed.

    A later `spot` makes them generated again.
    """
    for now in blocking_columns(old, new):
        before = old.column(now.id)
        yield ChangeGenerated(now.id, before.name, before, "", None)


def spot_dropped(old: Table, new: Table) -> Iterator[ChangeGenerated]:
    """Yield the changes that make a generated column plain; they come before changes of its type, default or inputs."""
    yield from (change for change in spot(old, new) if not change.generated)
