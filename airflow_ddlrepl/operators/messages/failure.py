"""What a finished stage says in the task's log and returns as XCom, and how a failed one ends its task."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.spark.jobs.result_file import Outcome, error_to_json

log = logging.getLogger("airflow.task.ddlrepl")

LOGGED = ("executed",)
"""What the app has logged already, one line each."""


def failed(what: str, error: DdlReplError, context: Context) -> AirflowException:
    """Leave the reason in the log and under the XCom `ddlrepl_error`; the exception to raise.

    What a person has to mend fails the task for good; what may pass is left to its retries.
    """
    task = context.get("ti")
    if task is not None:
        task.xcom_push(key="ddlrepl_error", value=json.loads(json.dumps(error_to_json(error), default=str)))
    log.error("%s failed: %s", what, error)
    kind = AirflowException if error.retryable else AirflowFailException
    return kind(str(error))


def nothing_to_do(stage: str, channel: str) -> dict[str, Any]:
    return {"stage": stage, "channel": channel, "worked": False}


def told(outcome: Outcome) -> Iterator[str]:
    """Log lines: one head, then one line per thing that the stage counted; empty things are left out."""
    yield f"{outcome.stage} of channel {outcome.channel}: done in {outcome.seconds:.1f} s"
    for name, value in outcome.summary.items():
        if name not in LOGGED and (value or value == 0):
            yield f"  {name.replace('_', ' ')}: {spelled(value)}"


def spelled(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {spelled(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(spelled(part) for part in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
