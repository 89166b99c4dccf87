"""This module keeps a wrong clock from removing what a channel retains by age."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow_ddlrepl.errors import Unreachable
from airflow_ddlrepl.flow.run.context import RunContext, log

TOLERANCE = timedelta(minutes=10)


def is_clock_right(run: RunContext) -> bool:
    """Return whether this machine's clock and the source's agree, so that something may be removed by its age.

    A clock that has jumped ahead would make all of it old. Where the source does not answer, nothing is removed either.
    """
    try:
        apart = abs(datetime.now(UTC) - run.source.clock())
    except Unreachable as error:
        log.warning("nothing is removed by its age in this run: %s", error.message)
        return False
    if apart > TOLERANCE:
        log.warning(
            "nothing is removed by its age in this run: this machine's clock and the source's are %s apart",
            timedelta(seconds=int(apart.total_seconds())),
        )
    return apart <= TOLERANCE
