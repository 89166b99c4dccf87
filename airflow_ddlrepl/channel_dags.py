"""A channel file becomes a DAG: capture, adapt, refresh, integrate."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable

from airflow_ddlrepl.config.channel import Channel
from airflow_ddlrepl.config.load import load_channel
from airflow_ddlrepl.config.location import redact
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hooks.settings import files_at
from airflow_ddlrepl.operators.adapt_ddl import AdaptDDLOperator
from airflow_ddlrepl.operators.capture import CaptureOperator
from airflow_ddlrepl.operators.integrate import IntegrateOperator
from airflow_ddlrepl.operators.refresh import RefreshOperator

log = logging.getLogger(__name__)

# A run that finds the channel locked or a server away tries again before it fails.
DEFAULTS: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=30), "owner": "ddlrepl"}
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


def build_channel_dags(path: str | Path, **defaults: Any) -> dict[str, DAG]:
    """The DAGs of the channel file at `path`, or of every one in that folder, by DAG id.

    Raises ConfigError CFG-403 when two files describe the same channel; what is wrong with a file is told with its
    line. defaults: default arguments of the tasks, e.g. retries=5.
    """
    return dags_of(files_at(path), **defaults)


def dags_of(files: Iterable[Path], **defaults: Any) -> dict[str, DAG]:
    """As build_channel_dags, from a list of files."""
    built: dict[str, DAG] = {}
    for file in files:
        channel = load_channel(file)
        dag = replicate_dag(channel, file, **defaults)
        if dag.dag_id in built:
            raise ConfigError(
                f"{file} describes the channel {channel.name} for the second time",
                code="CFG-403",
                hint="a channel's name is its identity: rename one, or move one file out of the folder",
            )
        built[dag.dag_id] = dag
    return built


def replicate_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """One cycle per run; paused until someone wants it, never two runs at once."""
    timetable = CronDataIntervalTimetable(channel.schedule, timezone="UTC") if channel.schedule else None
    with DAG(
        dag_id=f"ddlrepl__{channel.name}__replicate",
        description=f"Replicates {channel.name} together with its schema changes",
        doc_md=_documentation(channel, file),
        schedule=timetable,
        start_date=BEGINNING,
        catchup=False,
        max_active_runs=1,
        is_paused_upon_creation=True,
        default_args={**DEFAULTS, **defaults},
        tags=["ddlrepl", channel.name],
    ) as dag:
        where = str(file.absolute())
        capture = CaptureOperator(task_id="capture", channel=where)
        adapt = AdaptDDLOperator(task_id="adapt", channel=where)
        refresh = RefreshOperator(task_id="refresh", channel=where)
        integrate = IntegrateOperator(task_id="integrate", channel=where)
        capture >> adapt >> refresh >> integrate
    return dag


def _documentation(channel: Channel, file: Path) -> str:
    targets = "\n".join(f"- to **{target.name}**: `{_shown(target.location)}`" for target in channel.targets)
    return f"""Channel **{channel.name}** (`{file.name}`)

- from `{_shown(channel.source.location)}`: {", ".join(f"`{pattern}`" for pattern in channel.source.tables)}
{targets}

`capture` reads the source's log up to now, `adapt` changes the targets' tables as the source's have changed,
`refresh` loads tables that need it, `integrate` applies the rows. A stage with nothing to do starts no Spark.
"""


def _shown(location: str) -> str:
    return re.sub(r"`", "'", redact(location))
