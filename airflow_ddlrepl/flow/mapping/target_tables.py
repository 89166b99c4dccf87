"""What `target_tables` in the channel file gives a table at one target needs old rows, and may change its types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.ddl.sql.conversion import Conversion
from airflow_ddlrepl.ddl.sql.statement import Evidence
from airflow_ddlrepl.flow.mapping.row_filters import require_whole_rows
from airflow_ddlrepl.model.settings.table_settings import TableSettings
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.scope.decide import taken_tables

_MADE_TO = "answers to conflicts, and the row that a change was made to would not be known"
_A_ROW_EACH = "a row per change, a key of its own or rows to discard, and values of changed rows would be missing"


def require_old_rows(at: ChannelAt, tables: Iterable[Table]) -> None:
    """Raise Unsupported ADP-154 where the log lacks whole old rows.

    `time_key`, `key` and `discard` need them, and `conflicts`.
    """
    for table in taken_tables(at, tables if at.channel.has_properties else ()):
        settings = at.settings(table.name)
        if settings.conflicts is not None:
            require_whole_rows(at.channel, table, "conflicts", _MADE_TO)
        if settings.columns.needs_old_rows:
            require_whole_rows(at.channel, table, "target_tables", _A_ROW_EACH)


def with_new_types(known: Evidence, table_state: TableState | None, now: TableSettings) -> Evidence:
    """Return the evidence of a change with the columns that the file gives another type than before.

    now: the file's settings for the table.
    """
    if table_state is None:
        return known
    was, be = table_state.settings.columns.types, now.columns.types
    others = {name for name in {**was, **be} if was.get(name) != be.get(name)}
    if not others:
        return known
    return replace(known, conversions={**known.conversions, **dict.fromkeys(others, Conversion.FILE)})
