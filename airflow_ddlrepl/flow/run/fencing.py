"""By fencing, only this run writes at a target from here on; after a cut-over no run does."""

from __future__ import annotations

from datetime import datetime

from airflow_ddlrepl.engines.abilities.of_target import CutsOver
from airflow_ddlrepl.engines.ability import find
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.errors import CannotCutOver
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.position import Position


def claim(run: RunContext, target: str, epoch: int | None = None) -> None:
    """End what earlier runs of the channel have open at the target, and block their return.

    epoch: the target's own, where it is not the channel's.
    Raises Fenced LCK-102 when this run has lost the channel, TargetError TGT-101 when the target knows no such channel,
    CannotCutOver CUT-101 when applications use the target.
    """
    run.check_lock()
    require_not_cut_over(run)
    require_target_not_cut_over(run, target)
    mark = run.repository.newest_mark(run.channel.name)
    run.target(target).claim(Fence(run.epoch if epoch is None else epoch, run.token, mark))
    if mark is not None and run.repository.claimed_with(run.channel.name, target) != (mark.number, run.token):
        run.repository.set_claimed_with(run.channel.name, run.token, target, mark.number)


def require_not_cut_over(run: RunContext) -> None:
    """Raise CannotCutOver CUT-101 when the channel is cut over: applications use its targets."""
    if found := run.repository.cut_over_at(run.channel.name):
        raise _error(run, "its targets", *found)


def require_target_not_cut_over(run: RunContext, target: str) -> None:
    """Raise CannotCutOver CUT-101 when applications use the target, whatever the repository knows.

    It may be another one, or have been restored to an earlier state.
    """
    place = find(run.target(target), CutsOver)
    if place is not None and (mark := place.cut_over()):
        raise _error(run, f"target {target}", mark.position, mark.since)


def _error(run: RunContext, what: str, position: Position, since: datetime) -> CannotCutOver:
    """Return the error of a run that would write where applications write. what: they use, in words."""
    return CannotCutOver(
        f"channel {run.channel.name} is cut over since {since.isoformat(sep=' ', timespec='seconds')}: applications"
        f" use {what}, and a run would overwrite what they have written",
        code="CUT-101",
        at=position,
        hint="`ddlrepl cutover CHANNEL.yaml --undo` lets the channel go on; `ddlrepl deactivate` ends it",
    )
