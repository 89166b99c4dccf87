"""This module plans how the rows of a stage task are read: which columns are wanted, and what becomes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from airflow_ddlrepl.integrate.netting.equality import KeyColumn
from airflow_ddlrepl.integrate.stage_task import StageTask, layout_of
from airflow_ddlrepl.integrate.steps.row_columns import change_columns, fills, row_columns, unfit_columns, with_settings
from airflow_ddlrepl.mapping.values import for_columns
from airflow_ddlrepl.model.settings.table_settings import CoerceErrorPolicy
from airflow_ddlrepl.model.target_columns import deletion_column, history_columns
from airflow_ddlrepl.notation.condition.parser import condition
from airflow_ddlrepl.ports.types import Equality, TypeSystem


def likeness(task: StageTask) -> tuple[Any, ...]:
    """Return a value that is equal for tasks with the same plan; while they live, their objects tell them apart."""
    table, target = task.table, task.target
    objects = (table.columns, table.types, target.columns, target.types, task.transform, task.conflicts)
    files = tuple((file.identity, id(file.columns)) for file in task.files)
    return *map(id, objects), files, table.key.columns if table.key else None, task.own, task.condition


class RowPlan:
    """A plan says which columns of a task's rows are wanted, under which names, and how they are read.

    types: of the target. Tasks that have all in common that it depends on share it (`likeness`).
    """

    def __init__(self, task: StageTask, types: TypeSystem) -> None:
        if len({layout_of(file) for file in task.files}) > 1:
            raise ValueError("files of different layouts in one task: cut them by sections()")
        layout = task.files[0].columns if task.files else ()
        own, table = task.own, task.table
        self.names = tuple(column.name for column in layout)
        """Every column of the rows, in the order of the `absent` bitmap."""
        self.encodings = {column.name: column.encoding for column in layout}
        """How the trail writes the values of each column."""
        self.key = tuple(
            KeyColumn(c.name, types.equality(c, self.encodings.get(c.name, ""), table.types))
            for c in table.key_columns()
        )
        keys = zip(table.key_columns(), self.key, strict=True)
        loose = tuple(column.id for column, key in keys if key.equality is not Equality.BYTES)
        columns = row_columns(table, task.target, self.encodings, loose)
        self.transform = for_columns(task.transform, [column.name for column in columns])
        """What computes values of the rows; None where no function does."""
        gives = self.transform.gives if self.transform is not None else ()
        columns = tuple(replace(one, encoding="text") if one.name in gives else one for one in columns)
        self.unfit = unfit_columns(columns, own.misfits)
        """The columns whose values the target may not be able to hold, where the channel file says what then."""
        self.of_source = with_settings(columns, self.unfit, own)
        """The columns with values of the source's rows."""
        self.discards = own.misfits is CoerceErrorPolicy.DISCARD
        self.of_change = change_columns(task.target)
        """The columns with values of the changes themselves."""
        self.columns = self.of_source + self.of_change
        """All columns of the net rows."""
        self.fills = tuple(fills(self.columns, task.target))
        """Columns of the target that the rows do not know, with what the source shows there."""
        self.deletion = deletion_column(task.target)
        """The target's column that says whether a row was deleted, where deleted rows stay; "": they don't."""
        self.is_history = history_columns(task.target) is not None
        """Is every change a row of its own?"""
        self.needs_old_rows = not self.key or bool(own.key) or self.discards or task.conflicts is not None
        self.needs_old_rows |= self.is_history
        """Are old rows read as new ones are, and not their keys alone?"""
        self.condition = condition(task.condition) if task.condition else None
        """Which rows the target takes; None: all."""
        self.reads = self._reads()
        """The columns whose new values are read from the trail."""
        self.reads_old = self._reads_old()
        """The columns whose old values are read."""
        self.missing_keys = sorted({key.name for key in self.key} - {column.name for column in self.of_source})
        """Key columns that the rows or the target's table lack."""
        stored = {one.id for one in task.target.columns if not one.generated} - {one.id for one in self.columns}
        self.uncomputed = [one.name for one in table.columns if one.generated and one.id in stored]
        """Generated columns whose values the target stores and the rows lack."""

    def _reads(self) -> list[str]:
        more = (*(self.transform.reads if self.transform is not None else ()), *self._condition_names())
        return list(dict.fromkeys((*(c.name for c in self.of_source), *(name for name in more if name in self.names))))

    def _reads_old(self) -> list[str]:
        more = self.reads if self.needs_old_rows else [n for n in self._condition_names() if n in self.names]
        return list(dict.fromkeys((*(key.name for key in self.key), *more)))

    def _condition_names(self) -> tuple[str, ...]:
        return self.condition.names() if self.condition is not None else ()
