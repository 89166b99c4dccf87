"""Each target has the mark of the newest capture that a run has claimed it with; an older copy is found out by it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from airflow_ddlrepl.engines.target_state import StateChange
from airflow_ddlrepl.errors import RepositoryPutBack
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.model.marks import Mark
from airflow_ddlrepl.model.record import RefreshRequested
from airflow_ddlrepl.model.table_state import TableStatus

PUT_BACK = "the target was put back to a copy from before its last load"


def is_ahead(run: RunContext, target: str) -> bool:
    """Has the target a mark that our repository does not know? Then that is an older copy, or another one."""
    found = _mark(run, target)
    return found is not None and not run.repository.has_mark(run.channel.name, found)


def _mark(run: RunContext, target: str) -> Mark | None:
    found = run.target(target).position()
    return found.mark if found is not None else None


def ahead(target: str) -> RepositoryPutBack:
    """Return the error for a target that has applied log of which the repository knows nothing."""
    return RepositoryPutBack(
        f"target {target} has applied log that this repository knows nothing of: the repository was put back to an"
        " older copy, or the channel runs from another repository, too",
        code="REP-111",
        target=target,
        hint="restore the repository's newest copy, or use the other repository. Else `ddlrepl activate --accept"
        " repository` loads every table again as the source has it now",
    )


def settle_put_back(run: RunContext, target: str) -> None:
    """Find out whether the target was put back to an older copy; what it has loaded since then waits to be loaded.

    Its position is as old as its rows, so it gets the log from there on again by itself. What a refresh has loaded is
    not all in the log. A run that claims a target leaves there its newest mark, and its token.
    """
    last, there = run.repository.claimed_with(run.channel.name, target), run.target(target).position()
    found = there.mark if there is not None else None
    if there is None or found is None or last is None or (found.number >= last.number and there.token >= last.token):
        return
    state = run.target(target).state()
    since = run.repository.marked_at(run.channel.name, found.number)
    loaded = _loaded_since(run, target, since)
    waits = {
        i: replace(one, state=TableStatus.PENDING, snapshot=None)
        for i, one in state.table_states.items()
        if i in loaded and one.state is TableStatus.LIVE
    }
    asked = [RefreshRequested(i, PUT_BACK, state.lsn) for i in waits]
    run.target(target).change_state(StateChange(states=waits, records=asked), run.fence)
    record(run, target)
    told = f"was put back to an older copy: it goes on from {state.lsn}"
    told += f", and {len(waits)} tables are loaded again" if waits else ""
    run.targets.new[target] = told
    log.warning("target %s %s", target, told)


def _loaded_since(run: RunContext, target: str, since: datetime | None) -> set[int]:
    """Return the ids of the tables that refreshes have loaded at the target since a moment; None: ever.

    since: when the mark that the target has was written. The copy was made some time after that: it may have some of
    these loads.
    """
    done = run.repository.refreshes(run.channel.name, target, "done")
    return {one.table_id for one in done if since is None or (one.finished is not None and one.finished >= since)}
