"""This module notes the tables of a channel whose log nobody reads: an inspection of the source shows them."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.revision import Origin, Revision
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.scope.decide import ChangeKind, decide

BEGINNING = Position(0)


def inspect_tables(run: RunContext) -> Sequence[Table]:
    """Return the channel's tables with their shapes; of a partitioned table its partitions and theirs, too."""
    names = run.source.catalog.list_tables()
    wanted = {i for i, name in names.items() if decide(run.capture_client, name, ChangeKind.TABLE).is_taken}
    return run.source.catalog.inspect(sorted(run.source.catalog.with_partitions(wanted)))


def note_tables(run: RunContext) -> Sequence[Table]:
    """Make the shapes that the channel's tables have now their newest revisions; return the tables."""
    tables = inspect_tables(run)
    known = run.repository.latest_revisions(run.channel.name)
    found = []
    for table in tables:
        before = known.get(table.id)
        if before is None or before.table != table:
            number = before.number + 1 if before else 0
            found.append(Revision(table.id, number, LogKey(number, 0), table, Origin.INSPECTED))
    is_new = run.repository.captured(run.channel.name) is None
    run.repository.enroll(run.channel.name, run.token, found, BEGINNING if is_new else None)
    return tables
