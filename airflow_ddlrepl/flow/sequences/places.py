"""A place of a source's column at a target: which column of which table it is there, now."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.sequence import ColumnPlace
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus

WAITING = (TableStatus.NEW, TableStatus.PENDING, TableStatus.SUSPENDED)


class TargetColumns:
    """These are the columns of a channel's tables at a target. tables: as the target has them, by the source's id."""

    def __init__(self, tables: Mapping[int, TableState]) -> None:
        self._tables = tables
        live = (one for one in tables.values() if one.state is TableStatus.LIVE)
        self._by_name = {one.name: one for one in live}

    def find(self, source: ColumnPlace) -> ColumnPlace | None:
        """Return a source's column as it is at the target; None where a table that follows the source has none such."""
        known = self.column(source)
        state = self._tables.get(source.table_id)
        if known is None or state is None:
            return None
        return ColumnPlace(source.table_id, source.column_id, state.name, known.name)

    def waits(self, source: ColumnPlace) -> bool:
        """Does the column's table wait for its rows, or is it suspended? Then it is left as it is."""
        state = self._tables.get(source.table_id)
        return state is not None and state.state in WAITING

    def column(self, source: ColumnPlace) -> Column | None:
        """Return the column of the target's shape; None where a table that follows the source has none such."""
        shape = self.shape(source)
        return next((one for one in shape.columns if one.id == source.column_id), None) if shape else None

    def shape(self, source: ColumnPlace) -> Table | None:
        """Return the shape of the column's table at the target; None where it does not follow the source."""
        state = self._tables.get(source.table_id)
        return state.shape if state is not None and state.state is TableStatus.LIVE else None

    def source_of(self, table: TableName, column: str) -> tuple[int, int] | None:
        """Return the source's ids of a target's column; None where it is none of the channel's."""
        state = self._by_name.get(table)
        found = next((one for one in state.shape.columns if one.name == column), None) if state is not None else None
        return (state.table_id, found.id) if state is not None and found is not None else None
