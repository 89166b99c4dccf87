"""Shapes ahead of a target are those that its tables get from log that it has not applied, captured or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from airflow_ddlrepl.capture.enroll import valid_at
from airflow_ddlrepl.ddl.base.same_shape import differences, same_type
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Column, Table


class ShapesAhead:
    """This object says of the source's tables as they are now which change of them a target at a position lacks."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._latest = run.repository.latest_revisions(run.channel.name)

    @cached_property
    def _histories(self) -> Mapping[int, Sequence[Revision]]:
        return self._run.repository.histories(self._run.channel.name)

    def is_new(self, table: Table, low: Position) -> bool:
        """Is the creation of the table ahead of the target?"""
        if table.id not in self._latest:
            return True
        return self._latest[table.id].key.lsn >= low and self._histories[table.id][0].key.lsn >= low

    def is_changed(self, table: Table, low: Position) -> bool:
        """Is a change of the table's shape ahead of the target?"""
        known = self._latest.get(table.id)
        if known is None or known.table is None or known.key.lsn >= low:
            return known is not None
        return known.table.name != table.name or any(True for _ in differences(known.table, table))

    def retyped(self, table: Table, low: Position) -> frozenset[int]:
        """Return the ids of columns that get other values by a change of their type, or of what computes them."""
        if not self.is_changed(table, low):
            return frozenset()
        valid = valid_at(self._histories.get(table.id, ()), LogKey(low, START_OF_TRANSACTION))
        known = {column.id: column for column in valid.table.columns} if valid is not None and valid.table else {}
        pairs = ((known[column.id], column) for column in table.columns if column.id in known)
        return frozenset(now.id for before, now in pairs if _has_other_values(before, now))


def _has_other_values(before: Column, now: Column) -> bool:
    computed = (before.generated or now.generated) and before.default != now.default
    return bool(computed) or not same_type(before.type, now.type)
