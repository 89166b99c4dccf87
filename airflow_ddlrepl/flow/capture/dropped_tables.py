"""With HVR's defaults a table that the source drops may stay in the channel: activation misses it then."""

from __future__ import annotations

from airflow_ddlrepl.config.sections.policies import Defaults, OnDropTable
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.names import TableName


def require_tables(run: RunContext) -> None:
    """Raise SourceError SRC-181 for tables that stay in the channel while the source has dropped or renamed them.

    A table stays in an HVR channel by `on_drop_table: KEEP`, and without an action for it at the source.
    """
    if missing := sorted(map(str, _missing(run))):
        raise SourceError(
            f"table not found: {', '.join(missing)}",
            code="SRC-181",
            hint="it belongs to the channel, but the source has dropped or renamed it: put it into source.exclude, or"
            " create it again",
        )


def require_a_table(run: RunContext) -> None:
    """Raise SourceError SRC-182 when the last table of an HVR channel was dropped: a channel needs at least one."""
    if dropped := _all_dropped(run):
        raise SourceError(
            f"the channel's last table was dropped at the source: {', '.join(sorted(map(str, dropped)))}; it is not"
            " removed, for a channel needs at least one table",
            code="SRC-182",
            hint="create a table that the channel takes: the drop is then handled; or ddlrepl deactivate",
        )


def has_lost_all(run: RunContext) -> bool:
    """Return whether the last table of an HVR channel was dropped."""
    return bool(_all_dropped(run))


def _all_dropped(run: RunContext) -> set[TableName]:
    """Return the tables that a drop takes out of the channel, when it has no other."""
    if run.channel.defaults is not Defaults.HVR:
        return set()
    latest = run.repository.latest_revisions(run.channel.name).values()
    if any(revision.table for revision in latest):
        return set()
    return {name for name in _names(run).values() if not _is_retained(run, name)}


def _missing(run: RunContext) -> set[TableName]:
    if run.channel.defaults is not Defaults.HVR:
        return set()
    latest = run.repository.latest_revisions(run.channel.name)
    there = {revision.table.name for revision in latest.values() if revision.table}
    dropped = {name for table_id, name in _names(run).items() if table_id in latest and not latest[table_id].table}
    gone = {name for name in dropped | _former_names(run) if _is_retained(run, name)}
    return {name for name in gone - there if run.channel.source.includes(name)}


def _former_names(run: RunContext) -> set[TableName]:
    """Return the names that tables had before they got another one.

    Partitioned tables and partitions are left out where an action is for them: they are renamed.
    """
    histories = run.repository.histories(run.channel.name).values()
    found = [revision.table for known in histories for revision in known if revision.table]
    return {t.name for t in found if not (t.is_partitioned or t.partition) or not _adapts(run, t.name)}


def _names(run: RunContext) -> dict[int, TableName]:
    """Return the last name of every table that the channel had, by the table's identity."""
    histories = run.repository.histories(run.channel.name)
    return {
        table_id: named[-1]
        for table_id, known in histories.items()
        if (named := [r.table.name for r in known if r.table])
    }


def _adapts(run: RunContext, name: TableName) -> bool:
    return any(action.is_for(name) for action in run.channel.source_actions())


def _is_retained(run: RunContext, name: TableName) -> bool:
    """Return whether a table stays in the channel when the source drops it."""
    actions = [action for action in run.channel.source_actions() if action.is_for(name)]
    chosen = next((a.on_drop_table for a in actions if a.on_drop_table), OnDropTable.DROP_FROM_CHANNEL_ONLY)
    return not actions or chosen is OnDropTable.KEEP
