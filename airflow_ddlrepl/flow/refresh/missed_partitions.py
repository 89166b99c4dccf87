"""Partitions that a partitioned table got at the source while it was suspended, or waited, come with its load.

Their CREATE TABLE was left to the catch-up of the tree, which a load takes the place of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from airflow_ddlrepl.engines.target_state import StateChange, TargetState
from airflow_ddlrepl.flow.mapping.initial_state import as_enrolled, pending_state
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.model.record import FIRST_LOAD, RefreshRequested
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.scope.client import client_at
from airflow_ddlrepl.scope.decide import ChangeKind, decide


def let_missed_partitions_wait(run: RunContext, target: str, now: TargetState) -> TargetState:
    """Let the partitions of partitioned tables that wait for a load, and that the target lacks, wait with them.

    Also those that were partitions of these for a while. Those that come later in the log than the target is, come by
    it. Returns the target's state with them.
    """
    trees = {i for i, s in now.table_states.items() if s.state is TableStatus.PENDING and s.shape.is_partitioned}
    missed = _missed(run.repository.histories(run.channel.name), trees, now) if trees else {}
    client, present = client_at(run.channel.at(target)), run.target(target).facts() if missed else None
    found: dict[int, TableState] = {}
    for table_id, (table, history) in missed.items():
        if present is not None and decide(client, table.name, ChangeKind.TABLE).is_taken:
            found[table_id] = pending_state(run.channel.at(target), as_enrolled(run.channel, table, history), present)
            log.info("%s came to the source while the table that it was a partition of was not applied", table.name)
    if not found:
        return now
    asked = [RefreshRequested(i, FIRST_LOAD, now.lsn) for i in found]
    run.target(target).change_state(StateChange(states=found, records=asked), run.fence)
    return run.target(target).state()


def _missed(
    histories: Mapping[int, Sequence[Revision]], trees: set[int], now: TargetState
) -> dict[int, tuple[Table, Sequence[Revision]]]:
    """Return the tables that were partitions below these, and that the target does not have, with their histories."""
    inside, found = set(trees), dict[int, tuple[Table, Sequence[Revision]]]()
    while True:
        more = {
            table_id: (latest, history)
            for table_id, history in histories.items()
            if table_id not in inside
            and (latest := history[-1].table) is not None
            and history[0].key.lsn < now.lsn
            and any(one.table and one.table.partition and one.table.partition.of in inside for one in history)
        }
        if not more:
            return {i: one for i, one in found.items() if i not in now.table_states}
        inside |= more.keys()
        found |= more
