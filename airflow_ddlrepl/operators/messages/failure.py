"""Report a stage's result, or its failure, in the task's log and XComs."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.errors.carried import error_to_json
from airflow_ddlrepl.hooks.connections import connections_file
from airflow_ddlrepl.labels import worth_showing
from airflow_ddlrepl.spark.jobs.result_file import Outcome
from airflow_ddlrepl.visible import continued

log = logging.getLogger("airflow.task.ddlrepl")

LOGGED = ("executed", "conditions", "seconds", "steps")
"""What the app, or the operator, logs by itself, one line each; and what the line above says."""


def failed(what: str, error: DdlReplError, context: Context) -> AirflowException:
    """Write the reason to the log and to the XCom `ddlrepl_error`, and return the exception to raise.

    The hint is in the exception, which Airflow logs: it stands in the task's log once. An error that a person has to
    repair fails the task for good; one that may pass is left to the task's retries.
    """
    task = context.get("ti")
    if task is not None:
        task.xcom_push(key="ddlrepl_error", value=json.loads(json.dumps(error_to_json(error), default=str)))
    log.error("%s failed: %s: %s", what, error.code, continued(error.message_with_names))
    kind = AirflowException if error.retryable else AirflowFailException
    return kind(str(error))


def push_last_status(file: str, context: Context, failure: DdlReplError) -> None:
    """Leave the channel's newest status as the XCom `status` of a task that fails; nothing where none is known.

    failure: why the task fails; that the status can't be read for the same reason is not told again.
    """
    from airflow_ddlrepl import flow

    task = context.get("ti")
    if task is None:
        return
    try:
        channel = load_channel(file)
        with connections_file(channel):
            found = flow.last_status(channel)
    except DdlReplError as error:
        if (error.code, error.message) != (failure.code, failure.message):
            log.warning("no status: %s: %s", error.code, continued(error.message_with_names))
        return
    except ModuleNotFoundError as error:  # without a driver this worker reads no repository
        log.warning("no status: %s", continued(str(error)))
        return
    if found is not None:
        task.xcom_push(key="status", value=json.loads(json.dumps(found, default=str)))


def nothing_to_do(stage: str, channel: str) -> dict[str, Any]:
    """Return the XCom of a stage that had no work."""
    return {"stage": stage, "channel": channel, "worked": False}


def log_lines(outcome: Outcome) -> Iterator[str]:
    """Return lines for the log: a head, then one line per result of the stage that says something."""
    yield f"{outcome.stage} of channel {outcome.channel}: done in {outcome.seconds:.1f} s"
    told = {name: value for name, value in outcome.summary.items() if name not in LOGGED}
    for name, value in worth_showing(told):
        yield f"  {name}: {spelled(value)}"


def spelled(value: Any) -> str:
    """Return a result as text: numbers with thousands separators, lists and mappings with commas."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {spelled(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(spelled(part) for part in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
