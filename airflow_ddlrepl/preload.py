"""This module imports what the tasks of a channel need, once, in the process that Airflow forks its tasks from.

A task imports for a second or two, whatever it has to do: the product, Arrow, numpy, the database drivers. In a process
that was forked from one that has imported them they are there.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Sequence

log = logging.getLogger(__name__)

FORKING = ("scheduler", "worker")
"""The `airflow` commands whose processes fork tasks: those of the LocalExecutor, and of Celery."""

# Arrow imports pandas as soon as it makes an array.
MODULES = (
    "airflow_ddlrepl.dags.build",
    "airflow_ddlrepl.spark.jobs.run_stage",
    "airflow_ddlrepl.spark_apps.main",
    "pandas",
    "pyarrow.parquet",
)


def forks_tasks(command: Sequence[str]) -> bool:
    """Return whether this is the command line of an Airflow process that forks tasks."""
    return any(word in FORKING for word in command[1:3])


def modules() -> tuple[str, ...]:
    """Return what is imported beforehand, for every task and for each kind of database."""
    from airflow_ddlrepl.engines import engines
    from airflow_ddlrepl.flow import PLACES

    stages = dict.fromkeys(f"airflow_ddlrepl.flow.{place.partition(':')[0]}" for place in PLACES.values())
    return (*MODULES, *stages, *(name for one in engines() for name in one.imported_beforehand))


def preload() -> None:
    """Import the modules; one that is not installed is not needed here."""
    for name in modules():
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as missing:
            log.info("%s is not imported beforehand: %s", name, missing)


def preload_where_tasks_fork() -> None:
    """Import the modules when this process forks tasks; the plugin calls this when Airflow loads it."""
    if forks_tasks(sys.argv):
        preload()
