"""A kind of target may be no place for what the channel file asks for a table there."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.engines.target_state import Capabilities
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.table_settings import OwnColumns
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.scope.decide import taken_tables


def require_capable(at: ChannelAt, tables: Iterable[Table], able: Capabilities) -> None:
    """Raise Unsupported where a target can't have one of these tables as the file says: ADP-164 for `target_tables`.

    ADP-178: for conditions of `restrict` that are for refreshes or changes alone. ADP-194: for `conflicts`.
    """
    for table in taken_tables(at, tables):
        if not able.target_tables and at.settings(table.name).columns != OwnColumns():
            raise Unsupported(
                f"target {at.target} is of a kind that has no tables with deleted rows or columns of its own",
                code="ADP-164",
                table=table.name,
                hint="take the table, or the target, out of `target_tables`",
            )
        if not able.partial_refresh and _has_conditions_apart(at, table.name):
            raise Unsupported(
                f"target {at.target} is of a kind that can't replace some rows of a table, or leave out some changes",
                code="ADP-178",
                table=table.name,
                hint="write `condition` in `restrict`, which is for all that is taken, without `ignore`",
            )
        if not able.conflicts and at.settings(table.name).conflicts is not None:
            raise Unsupported(
                f"target {at.target} is of a kind that does not look for conflicts",
                code="ADP-194",
                table=table.name,
                hint="take the table, or the target, out of `conflicts`",
            )


def _has_conditions_apart(at: ChannelAt, table: TableName) -> bool:
    rows = at.settings(table).rows
    return bool(rows.ignore or rows.of_changes_alone or at.refresh_limits(table))
