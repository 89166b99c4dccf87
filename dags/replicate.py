"""This DAG replicates: it runs one cycle of the channel's pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, CronTriggerTimetable, TriggerRule

from airflow_ddlrepl.assets import data_asset, schema_asset
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.dags.parts.dag import channel_dag, shown
from airflow_ddlrepl.dags.parts.streams import streams_tasks
from airflow_ddlrepl.flow.pipelines import INTEGRATING, OF_CLIENTS, Pipeline, pipeline_of
from airflow_ddlrepl.operators.adapt_ddl import AdaptDDLOperator
from airflow_ddlrepl.operators.capture import CaptureOperator
from airflow_ddlrepl.operators.integrate import IntegrateOperator
from airflow_ddlrepl.operators.messages.markdown import code, dag_id
from airflow_ddlrepl.operators.refresh import RefreshOperator

# A stage that fails has gone as far as it could: what stops one target or table keeps no other from later stages.
GOES_ON = TriggerRule.ALL_DONE_MIN_ONE_SUCCESS
# A backfill is about the past: it is refused here, and `replay` has it.
RUNS = ("scheduled", "manual", "operator_triggered", "asset_triggered", "asset_materialization")


def replicate_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Return the DAG that runs one cycle per run, never two runs at once; it is paused at first."""
    with channel_dag(
        channel,
        "replicate",
        defaults,
        description=f"Replicates {channel.name} together with its schema changes{_where_backfills_go(channel)}",
        doc_md=_documentation(channel, file),
        schedule=CronTriggerTimetable(channel.schedule, timezone="UTC") if channel.schedule else None,
        allowed_run_types=RUNS,
    ) as dag:
        tasks = _TASKS[pipeline_of(channel)](channel, str(file.absolute()))
        tasks >> EmptyOperator(task_id="end")  # the run has failed when one of them has
    return dag


def _stage_tasks(channel: Channel, where: str) -> list[Any]:
    """Return the tasks of a cycle whose targets integrate, each behind all stages before it."""
    assets = [data_asset(channel.name), schema_asset(channel.name)]
    tasks: list[Any] = [
        CaptureOperator(task_id="capture", channel=where),
        AdaptDDLOperator(task_id="adapt", channel=where),
        RefreshOperator(task_id="refresh", channel=where, trigger_rule=GOES_ON),
        IntegrateOperator(task_id="integrate", channel=where, inlets=assets, outlets=assets, trigger_rule=GOES_ON),
    ]
    for earlier, later in combinations(tasks, 2):
        earlier >> later
    return tasks


_TASKS: Mapping[Pipeline, Callable[[Channel, str], list[Any]]] = {INTEGRATING: _stage_tasks, OF_CLIENTS: streams_tasks}


def _documentation(channel: Channel, file: Path) -> str:
    targets = "\n".join(f"- to **{one.name}**: {code(shown(one.location))}" for one in channel.destinations)
    return f"""Channel **{channel.name}** ({code(file.name)})

- from {code(shown(channel.source.location))}: {", ".join(map(code, channel.source.tables))}
{targets}

{_CYCLES[pipeline_of(channel)]} A stage with nothing to do starts no Spark.

Other DAGs can wait for what arrives (asset `{data_asset(channel.name).name}`) or for a schema that has changed
(`{schema_asset(channel.name).name}`).
{_about_backfills(channel)}"""


_CYCLES: Mapping[Pipeline, str] = {
    INTEGRATING: """`capture` reads the source's log up to now, `adapt` changes the targets' tables as the source's have
changed, `refresh` loads tables that need it, `integrate` applies the rows.""",
    OF_CLIENTS: """`capture` takes the source's changes by its rules, each `propagate` passes messages of a queue on to
another one, `apply` applies the transactions of queues at their targets.""",
}
"""What the tasks of a cycle do, for people."""


def _where_backfills_go(channel: Channel) -> str:
    return f"; backfills go to {dag_id(channel.name, 'replay')}" if channel.replays and channel.schedule else ""


def _about_backfills(channel: Channel) -> str:
    if not channel.targets:
        return ""
    if channel.replays and channel.schedule:
        replay = dag_id(channel.name, "replay")
        return f"""
**Backfills**: this DAG takes none, as it brings the targets up to now. Create them for `{replay}`, which
replays the past in another place.
"""
    return """
**Backfills**: this DAG takes none, as it brings the targets up to now. With `replays` and a `schedule` in the channel
file there is a DAG for them, which replays the past in another place.
"""
