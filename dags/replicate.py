"""This DAG replicates: capture, adapt, refresh, integrate."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, CronTriggerTimetable, TriggerRule

from airflow_ddlrepl.assets import data_asset, schema_asset
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.dags.parts.dag import channel_dag, shown
from airflow_ddlrepl.dags.parts.streams import streams_tasks
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
        where = str(file.absolute())
        if channel.streams is not None:
            streams_tasks(channel, channel.streams, where) >> EmptyOperator(task_id="end")
            return dag
        capture = CaptureOperator(task_id="capture", channel=where)
        adapt = AdaptDDLOperator(task_id="adapt", channel=where)
        refresh = RefreshOperator(task_id="refresh", channel=where, trigger_rule=GOES_ON)
        assets = [data_asset(channel.name), schema_asset(channel.name)]
        integrate = IntegrateOperator(
            task_id="integrate", channel=where, inlets=assets, outlets=assets, trigger_rule=GOES_ON
        )
        stages = [capture, adapt, refresh, integrate]
        for earlier, later in combinations(stages, 2):
            earlier >> later
        stages >> EmptyOperator(task_id="end")  # the run has failed when one of them has
    return dag


def _documentation(channel: Channel, file: Path) -> str:
    places = channel.streams.targets if channel.streams else channel.targets
    targets = "\n".join(f"- to **{target.name}**: {code(shown(target.location))}" for target in places)
    return f"""Channel **{channel.name}** ({code(file.name)})

- from {code(shown(channel.source.location))}: {", ".join(map(code, channel.source.tables))}
{targets}

{_STREAMS if channel.streams else _STAGES} A stage with nothing to do starts no Spark.

Other DAGs can wait for what arrives (asset `{data_asset(channel.name).name}`) or for a schema that has changed
(`{schema_asset(channel.name).name}`).
{_about_backfills(channel)}"""


_STAGES = """`capture` reads the source's log up to now, `adapt` changes the targets' tables as the source's have
changed, `refresh` loads tables that need it, `integrate` applies the rows."""
_STREAMS = """`capture` takes the source's changes by its rules, each `propagate` passes messages of a queue on to
another one, `apply` applies the transactions of queues at their targets."""


def _where_backfills_go(channel: Channel) -> str:
    return f"; backfills go to {dag_id(channel.name, 'replay')}" if channel.replays and channel.schedule else ""


def _about_backfills(channel: Channel) -> str:
    if channel.streams is not None:
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
