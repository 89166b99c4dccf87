"""Claiming a target: from here on only this run writes there."""

from __future__ import annotations

from airflow_ddlrepl.engines.postgres import state
from airflow_ddlrepl.engines.postgres.patience import limit, patiently
from airflow_ddlrepl.flow.cycle import Cycle


def claim(cycle: Cycle, target: str, epoch: int | None = None) -> None:
    """End what earlier runs of the channel have open at the target, and keep them from coming back.

    epoch: that the target stands in, where it is not the channel's.
    Raises Fenced LCK-102 when this run has lost the channel, TargetError TGT-101 when the target knows no such channel.
    """
    cycle.check_lock()
    connection = cycle.target_connection(target)
    limit(connection, cycle.channel.target(target).lock_timeout)

    def take() -> None:
        holder = cycle.channel.holder(target)
        state.claim(connection, holder, epoch=cycle.epoch if epoch is None else epoch, token=cycle.token)

    patiently(take, connection, cycle.target_dsn(target))
