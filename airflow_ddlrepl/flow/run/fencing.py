"""Claiming a target: from here on only this run writes there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.lock_retry import limit, patiently
from airflow_ddlrepl.engines.postgres.connection.session_names import session_name
from airflow_ddlrepl.engines.postgres.target import state
from airflow_ddlrepl.flow.run.context import RunContext

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection


def claim(run: RunContext, target: str, epoch: int | None = None) -> None:
    """End what earlier runs of the channel have open at the target, and keep them from coming back.

    epoch: that the target stands in, where it is not the channel's.
    Raises Fenced LCK-102 when this run has lost the channel, TargetError TGT-101 when the target knows no such channel.
    """
    run.check_lock()
    connection = run.target_connection(target)
    limit(connection, run.channel.target(target).lock_timeout)

    def take() -> None:
        holder = run.channel.holder(target)
        state.claim(connection, holder, epoch=run.epoch if epoch is None else epoch, token=run.token)

    patiently(take, connection, run.target_dsn(target))


@contextmanager
def writing(run: RunContext, target: str) -> Iterator[Connection[Any]]:
    """A session that changes tables at the target: none of its statements waits for a lock for long, and `claim` of a
    later run ends it.
    """
    name = session_name("refresh", run.channel.holder(target), run.token)
    with session(run.target_dsn(target), application_name=name) as connection:
        limit(connection, run.channel.target(target).lock_timeout)
        yield connection
