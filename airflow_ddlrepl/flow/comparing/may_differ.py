"""A table may differ at a target after a change that was left out on purpose; here is why, and for how many changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.change import EventKind, counted, session_ignored
from airflow_ddlrepl.repository.stored.rows import EventRow, RefreshRow


def may_differ(context: RunContext, target: str) -> Mapping[int, tuple[str, ...]]:
    """Return, by table, why its rows may differ at the target: policies, rules, and sessions that are ignored."""
    declined = context.repository.declined_refreshes(context.channel.name, target)
    first = min((row.requested_at for row in declined), default=None)
    events = context.repository.events(context.channel.name, first) if first is not None else []
    ignored = [event for event in events if event.kind == EventKind.IGNORED]
    found: dict[int, list[str]] = defaultdict(list)
    for row in declined:
        found[row.table_id].append(f"since {row.requested_at}: {row.reason}{_count(row, ignored)}")
    return {table_id: tuple(reasons) for table_id, reasons in found.items()}


def _count(row: RefreshRow, ignored: Sequence[EventRow]) -> str:
    """Return how many changes of ignored sessions the table lacks since then; empty where it lacks none."""
    ours = (one for one in ignored if row.table_id in one.table_ids and one.key.lsn >= row.requested_at)
    number = sum(counted(one.statement) for one in ours if session_ignored(one.tag) == row.reason)
    return f", {number} row changes so far" if number else ""
