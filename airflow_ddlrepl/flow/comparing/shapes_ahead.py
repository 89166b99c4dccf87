"""Shapes ahead of a target are those that its tables get from log that it has not applied, captured or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from airflow_ddlrepl.capture.enroll import valid_at
from airflow_ddlrepl.capture.source_record import RowsVersion
from airflow_ddlrepl.ddl.base.same_shape import same_type
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.source_records import last_record
from airflow_ddlrepl.model.change import Event
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

    @cached_property
    def _captured_rows(self) -> Mapping[int, RowsVersion]:
        return last_record(self._run).rows

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
        return known.table.name != table.name or bool(diff(known.table, table, self._run.types))

    def retyped(self, table: Table, low: Position) -> frozenset[int]:
        """Return the ids of columns that get other values by a change of their type, or of what computes them."""
        if not self.is_changed(table, low):
            return frozenset()
        valid = valid_at(self._histories.get(table.id, ()), LogKey(low, START_OF_TRANSACTION))
        known = {column.id: column for column in valid.table.columns} if valid is not None and valid.table else {}
        pairs = ((known[column.id], column) for column in table.columns if column.id in known)
        has_other_labels = valid is not None and valid.table is not None and _lacks_labels(valid.table, table)
        return frozenset(
            now.id
            for before, now in pairs
            if _has_other_values(before, now) or (has_other_labels and not now.type.is_builtin)
        )

    def redefined(self, table: Table, statements: Sequence[Event]) -> frozenset[int]:
        """Return the ids of columns that may have other values, in rows that the log is not about, after a rewrite.

        statements: which are ahead of the target and made the server write the table's rows anew. Also without one, as
        nothing records a statement while event triggers are switched off: what the last capture saw shows it.
        """
        now = RowsVersion.of(table)
        before = _rows_before(table, statements) if statements else self._captured_rows.get(table.id)
        if before is not None and now is not None:
            return before.redefined(now)
        return frozenset(column.id for column in table.columns) if statements else frozenset()


def _rows_before(table: Table, statements: Sequence[Event]) -> RowsVersion | None:
    """Return the version of a table's rows before the first of these statements, where its record has it."""
    shapes = (before for event in statements[:1] for before in event.before if before.id == table.id)
    return next((RowsVersion.of(before) for before in shapes), None)


def _lacks_labels(before: Table, now: Table) -> bool:
    """Has a value of an enum another name now, so that rows which nobody has written show it?"""
    labels = {one.id: set(one.labels) for one in now.types}
    return any(not set(one.labels) <= labels.get(one.id, set(one.labels)) for one in before.types)


def _has_other_values(before: Column, now: Column) -> bool:
    computed = (before.generated or now.generated) and before.default != now.default
    return bool(computed) or not same_type(before.type, now.type)
