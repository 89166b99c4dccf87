"""This module writes the statements of a TRUNCATE for targets that retain rows which the source does not have any more.

Deleted rows are marked (`soft_delete`); a history has a row per change (`time_key`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from airflow_ddlrepl.adapt.program.program import ProgramStep
from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.ddl.tables.truncate import Truncate
from airflow_ddlrepl.mapping.extra_columns import value_of
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.model.target_columns import deletion_columns, history_columns
from airflow_ddlrepl.notation.condition.row_limit import RowLimit

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RetainedRows:
    """Retained rows are written in an engine's SQL."""

    render: Renderer
    quote: Callable[[str], str]
    qualified: Callable[[TableName], str]
    columns_sql: Callable[[Table], dict[str, str]]
    """The engine's type of each column of a table, by the column's name."""
    within: Callable[[RowLimit, Table], str]
    """SQL that is true for the rows of a table that a limit selects."""
    moment: Callable[[str], str]
    """SQL for a moment whose text is ISO."""

    def truncating(self, step: ProgramStep, before: TableState) -> Sequence[str]:
        """Return the statements of a TRUNCATE: rows go, or stay as deleted ones, or a history gets a row more."""
        shape, event = before.shape.with_(name=before.name), step.event
        table = self.qualified(before.name)
        if step.limit is not None:
            return [f"DELETE FROM {table} WHERE {self.within(step.limit, shape)}"]
        if (deletion := deletion_columns(shape)) is not None:
            flag, at = deletion
            moment = f", {self.quote(at)} = {self._moment(event.committed)}" if at else ""
            return [f"UPDATE {table} SET {self.quote(flag)} = true{moment} WHERE NOT {self.quote(flag)}"]
        if history_columns(shape) is not None:
            return [self.note_truncate(shape, before.name, (step.key, event.committed, event.transaction_id))]
        return self.render.sql(Truncate(restart_identity=False), shape)

    def note_truncate(self, shape: Table, name: TableName, of: tuple[LogKey, int, int | None]) -> str:
        """Return the statement that adds the row of a TRUNCATE to a history.

        of: its place in the log, its commit's time (microseconds since 1970, UTC), its transaction's number if any.
        """
        key, committed, number = of
        values = {
            "operation": "'truncate'",
            "position": f"{int(key.lsn)}",
            "sequence": f"{key.seq}",
            "commit_time": self._moment(committed),
            "transaction": "NULL" if number is None else f"{number}",
        }
        types = self.columns_sql(shape)
        names = ", ".join(self.quote(column.name) for column in shape.columns)
        cast = ", ".join(f"CAST({values.get(value_of(one), 'NULL')} AS {types[one.name]})" for one in shape.columns)
        return f"INSERT INTO {self.qualified(name)} ({names}) VALUES ({cast})"

    def _moment(self, committed: int) -> str:
        return self.moment((_EPOCH + timedelta(microseconds=committed)).isoformat())
