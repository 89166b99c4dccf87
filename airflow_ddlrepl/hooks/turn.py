"""Tasks of one channel take turns: a task that finds the channel locked waits, and keeps its retries for failures.

It waits in its worker for a while, then Airflow starts it again later (`up_for_reschedule`), as it does for sensors: no
worker is busy meanwhile, and no triggerer is needed.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowRescheduleException

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import LockHeld

log = logging.getLogger("airflow.task.ddlrepl")

IN_WORKER_SECONDS = 20.0
FOREVER = float("inf")
LATER = timedelta(seconds=30)
XCOM_KEY = "ddlrepl_waits_for"


def await_turn(channel: Channel, seconds: float) -> None:
    """Wait in this worker until no other run works on the channel. Raises LockHeld LCK-101 when one still does."""
    from airflow_ddlrepl import flow

    held = flow.wait_for_turn(channel, seconds, lambda held: log.info("waits for its turn: %s", held.message))
    if held is not None:
        raise held


def later(lock_error: LockHeld, context: Context) -> AirflowRescheduleException:
    """Write whom the task waits for to the log and an XCom, and return what lets Airflow start it again later."""
    at = datetime.now(UTC) + LATER
    if (task := context.get("ti")) is not None:
        task.xcom_push(key=XCOM_KEY, value={"code": lock_error.code, "message": lock_error.message})
    log.warning(
        "waits for its turn and tries again at %s UTC, which is no failure and no retry: %s",
        at.strftime("%H:%M:%S"),
        lock_error.message,
    )
    return AirflowRescheduleException(at)
