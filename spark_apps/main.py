"""What all Spark apps have: arguments, the channel, the result file, the exit code."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.errors import DdlReplError, Exit
from airflow_ddlrepl.flow.stages import app_stages
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.jobs.result_file import Outcome
from airflow_ddlrepl.spark.jobs.run_stage import run_stage
from airflow_ddlrepl.spark.session.settings import STARTED_BY, SparkSettings

Job = Callable[[Channel, str, Runner], dict[str, Any]]

log = logging.getLogger("ddlrepl")


def run_app(app: str, arguments: Sequence[str] | None = None) -> int:
    """Run an app of ours with the arguments of its stage (`flow/stages.py`), and return the exit code of `ddlrepl`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    stages = app_stages(app)
    stage = next((one for one in stages if one.app_option and one.app_option in given), stages[0])
    parser = argparse.ArgumentParser(prog=f"{app}.py", add_help=False, allow_abbrev=False)
    for one in stage.arguments:
        parser.add_argument(one.option, dest=one.name, **one.reading())
    if stage.app_option:
        given.remove(stage.app_option)
    values, rest = parser.parse_known_args(given)
    return main(app, partial(run_stage, stage.name, **vars(values)), rest)


def main(stage: str, job: Job, arguments: Sequence[str] | None = None) -> int:
    """Run the job and return the exit code of `ddlrepl` (errors.Exit). The arguments contain no secrets.

    job: takes the channel, who runs it, and who runs its tasks. An app of your own calls this with a job of its own.
    """
    parser = argparse.ArgumentParser(prog=f"{stage}.py", allow_abbrev=False)
    parser.add_argument("--channel", required=True, help="the channel file")
    parser.add_argument("--run", required=True, help="who runs this; shown with the channel's lock")
    parser.add_argument("--result", required=True, type=Path, help="file for the result as JSON")
    parser.add_argument("--reported", action="store_true", help="who reads the result also logs its error")
    options = parser.parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    if (starter := _starter()) is not None:
        threading.Thread(target=_end_with, args=(starter,), name="starter", daemon=True).start()
    start = time.monotonic()
    name, summary, error = options.channel, {}, None
    try:
        channel = load_channel(options.channel)
        name = channel.name
        summary = _run(stage, job, channel, options.run)
    except DdlReplError as refused:
        error = refused
        if not options.reported:
            log.error("%s", refused)
    except Exception as unexpected:
        log.error("%s", redact(traceback.format_exc()))
        error = DdlReplError(redact(f"{type(unexpected).__name__}: {unexpected}"), code="APP-900", retryable=True)
    Outcome(stage, name, options.run, time.monotonic() - start, summary, error).write(options.result)
    return int(error.exit_code) if error else 0


def _starter() -> int | None:
    """Return the process that waits for this one: spark-submit, or the operator's; None: a person has started it."""
    if STARTED_BY in os.environ:
        return int(os.environ[STARTED_BY])
    return os.getppid() if "PYSPARK_GATEWAY_PORT" in os.environ else None


def _end_with(starter: int) -> None:
    """End this process when its starter has ended: it would keep the channel locked, and write on."""
    while os.getppid() == starter:
        time.sleep(1)
    os._exit(Exit.FAILED)


def _run(stage: str, job: Job, channel: Channel, run_id: str) -> dict[str, Any]:
    runner = SparkRunner(SparkSettings.of(channel), f"ddlrepl {channel.name} {stage}")
    try:
        return job(channel, run_id, runner)
    finally:
        runner.stop()
