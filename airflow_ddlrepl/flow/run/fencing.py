"""By fencing, only this run writes at a target from here on."""

from __future__ import annotations

from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.flow.run.context import RunContext


def claim(run: RunContext, target: str, epoch: int | None = None) -> None:
    """End what earlier runs of the channel have open at the target, and block their return.

    epoch: the target's own, where it is not the channel's.
    Raises Fenced LCK-102 when this run has lost the channel, TargetError TGT-101 when the target knows no such channel.
    """
    run.check_lock()
    run.target(target).claim(Fence(run.epoch if epoch is None else epoch, run.token))
