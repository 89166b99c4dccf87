"""The channel file's settings for a table at a target are compared: those at its present shape with those now."""

from __future__ import annotations

from airflow_ddlrepl.adapt.plan.settings import Reads, SettingsChange
from airflow_ddlrepl.ddl.sql.statement import Evidence
from airflow_ddlrepl.flow.mapping.row_filters import condition_reads
from airflow_ddlrepl.flow.mapping.value_functions import function_reads
from airflow_ddlrepl.mapping.misfits import may_not_fit
from airflow_ddlrepl.mapping.own_types import rewritten
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.settings.table_settings import TableSettings
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.ports.types import TypeSystem


def limit_of(before: TableState | None, event: Event, settings: TableSettings) -> str:
    """Return the condition for the rows that a refresh after a change replaces; empty: all, or there are none yet."""
    has_rows = before is not None and before.state is TableStatus.LIVE and event.kind is EventKind.DDL
    return settings.rows.refresh if has_rows else ""


def settings_change(
    before: TableState | None,
    source_before: Table | None,
    new: Table | None,
    kind: EventKind,
    known: Evidence,
    now: TableSettings,
    types: TypeSystem,
) -> SettingsChange:
    """Return the file's settings for the table: now, and at its present shape. Partitioned tables have no rows.

    kind, known: of the change. types: of the source.
    """
    if before is None or new is None or new.is_partitioned or before.state is TableStatus.NEW:
        return SettingsChange(kind, before.settings if before else None, now)
    condition = condition_reads(now.rows, source_before) if source_before else None
    may_replace = before.settings.misfits.replaces or before.settings.misfits != now.misfits
    may_rewrite = source_before is not None and known.rewritten is not False
    return SettingsChange(
        kind,
        before.settings,
        now,
        has_rows=True,
        is_live=before.state is TableStatus.LIVE,
        reads_before=Reads(condition, function_reads(before.settings.values, source_before or new)),
        reads_now=Reads(condition_reads(now.rows, new), function_reads(now.values, new)),
        rewritten=rewritten(now.columns, source_before or new, new, types) if may_rewrite else (),
        unfit=_unfit(source_before or new, before.shape) if may_replace else frozenset(),
    )


def _unfit(source: Table, target: Table) -> frozenset[int]:
    ours = {column.id: column for column in target.columns}
    return frozenset(one.id for one in source.columns if one.id in ours and may_not_fit(one, ours[one.id]))
