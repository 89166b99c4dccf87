"""A target with `apply_every`: when changes were last applied there, moved into the past or the future."""

from __future__ import annotations

from datetime import timedelta

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.stored.rows import ApplyRow
from tests.support.replica import Make, Replica

EVERY = 900
LONG_AGO = EVERY + 60


def set_every(replica: Replica, every: str = f"{EVERY}s", target: str = "warehouse") -> None:
    """The channel file says so of a target, as if a person had written it there."""
    text = replica.file.read_text()
    replica.file.write_text(text.replace(f"- name: {target}\n", f"- name: {target}\n  apply_every: {every}\n"))


def last_applied(replica: Replica, seconds_ago: float, target: str = "warehouse") -> None:
    """The last apply at the target began so many seconds ago; below 0: the clock says that it has not come yet."""
    with flow.open_channel(replica.file, InProcess()) as run, run.locked():
        began = run.repository.clock() - timedelta(seconds=seconds_ago)
        run.repository.set_last_apply("shop", run.token, target, ApplyRow(began, run.token))


def gathering(make: Make, *before: str, **more: object) -> Replica:
    """A channel whose target has all that is captured, and was applied to a moment ago."""
    replica = make("CREATE TABLE t (id int PRIMARY KEY, v int)", *before, **more)
    set_every(replica)
    replica.at_source("INSERT INTO t VALUES (0, 0)")
    replica.settle()
    return replica
