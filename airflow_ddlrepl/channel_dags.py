"""A channel file becomes a DAG: capture, adapt, refresh, integrate."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain, combinations
from pathlib import Path
from typing import Any, get_args

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, CronDataIntervalTimetable, Param, TriggerRule

from airflow_ddlrepl.assets import data_asset, outlet, schema_asset
from airflow_ddlrepl.config.channel import Channel
from airflow_ddlrepl.config.load import load_channel
from airflow_ddlrepl.config.location import redact
from airflow_ddlrepl.config.policies import Enrollment
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hooks.settings import files_at, option
from airflow_ddlrepl.operators.adapt_ddl import AdaptDDLOperator
from airflow_ddlrepl.operators.capture import CaptureOperator
from airflow_ddlrepl.operators.controls import ExplainControlsOperator, RemoveControlsOperator
from airflow_ddlrepl.operators.enroll import EnrollOperator
from airflow_ddlrepl.operators.integrate import IntegrateOperator
from airflow_ddlrepl.operators.refresh import RefreshOperator
from airflow_ddlrepl.operators.replay import ReplayOperator
from airflow_ddlrepl.operators.rewind import PlanRewindOperator, RewindOperator

log = logging.getLogger(__name__)

# A stage that fails has gone as far as it could: what stops one target or table keeps no other from later stages.
GOES_ON = TriggerRule.ALL_DONE_MIN_ONE_SUCCESS
# A run that finds the channel locked or a server away tries again before it fails.
DEFAULTS: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=30), "owner": "ddlrepl"}
ANSWER_WITHIN = timedelta(days=1)
TO = "2026-11-21T08:00:00+00:00 (with its offset), or a position of the source's log such as 0/16B3748"
TABLES = "schema.table, one per line; patterns as in the channel file; empty: all of the channel"
START = "now; oldest, as far back as the source holds its log; a moment with its offset, or a position of the log"
CONTROL = "its number, as `ddlrepl controls` prints it; empty: all that hold"
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


def build_channel_dags(path: str | Path, **defaults: Any) -> dict[str, DAG]:
    """The DAGs of the channel file at `path`, or of every one in that folder, by DAG id.

    Raises ConfigError CFG-403 when two files describe the same channel; what is wrong with a file is told with its
    line. defaults: default arguments of the tasks, e.g. retries=5.
    """
    return dags_of(files_at(path), **defaults)


def dags_of(files: Iterable[Path], **defaults: Any) -> dict[str, DAG]:
    """As build_channel_dags, from a list of files."""
    built, refused = dags_and_refusals(files, **defaults)
    for error in refused:
        raise error
    return built


def dags_and_refusals(files: Iterable[Path], **defaults: Any) -> tuple[dict[str, DAG], list[ConfigError]]:
    """The DAGs of the files that can be used, and what is wrong with the others: one of them stops no other channel.

    Of two files that describe the same channel neither can be used.
    """
    built: dict[str, list[DAG]] = {}
    refused: list[ConfigError] = []
    twice: set[str] = set()
    for file in files:
        try:
            channel = load_channel(file)
            if channel.name in built:
                twice.add(channel.name)
                raise ConfigError(
                    f"{file} describes the channel {channel.name} for the second time",
                    code="CFG-403",
                    hint="a channel's name is its identity: rename one, or move one file out of the folder",
                )
            built[channel.name] = list(_dags(channel, file, defaults))
        except ConfigError as error:
            refused.append(error)
    usable = (dags for name, dags in built.items() if name not in twice)
    return {dag.dag_id: dag for dag in chain.from_iterable(usable)}, refused


def _dags(channel: Channel, file: Path, defaults: Mapping[str, Any]) -> Iterator[DAG]:
    yield replicate_dag(channel, file, **defaults)
    yield enroll_dag(channel, file, **defaults)
    if channel.replays:
        yield rewind_dag(channel, file, **defaults)
    if channel.can_stop:
        yield controls_dag(channel, file, **defaults)


def replicate_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """One cycle per run; paused until someone wants it, never two runs at once."""
    with _dag(
        channel,
        "replicate",
        defaults,
        description=f"Replicates {channel.name} together with its schema changes",
        doc_md=_documentation(channel, file),
        schedule=CronDataIntervalTimetable(channel.schedule, timezone="UTC") if channel.schedule else None,
    ) as dag:
        where = str(file.absolute())
        capture = CaptureOperator(task_id="capture", channel=where)
        adapt = AdaptDDLOperator(task_id="adapt", channel=where)
        refresh = RefreshOperator(task_id="refresh", channel=where, trigger_rule=GOES_ON)
        assets = [data_asset(channel.name), schema_asset(channel.name)]
        outlets = [outlet(asset) for asset in assets]
        integrate = IntegrateOperator(
            task_id="integrate", channel=where, inlets=assets, outlets=outlets, trigger_rule=GOES_ON
        )
        stages = [capture, adapt, refresh, integrate]
        for earlier, later in combinations(stages, 2):
            earlier >> later
        stages >> EmptyOperator(task_id="end")  # the run has failed when one of them has
        if channel.replays:  # beside the others: in a backfill it alone works, otherwise it alone is skipped
            into = f"{{{{ (dag_run.conf or {{}}).get('into', '{channel.replays[0].name}') }}}}"
            ReplayOperator(task_id="replay", channel=where, into=into, max_active_tis_per_dag=1)
    return dag


def enroll_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Started by hand: prepare the source, enroll its tables, load them. Again: changes what is asked for only."""
    with _dag(
        channel,
        "enroll",
        defaults,
        description=f"Activates {channel.name}: prepares the source, enrolls its tables, loads them",
        doc_md=_about_enrolling(channel, file),
        params={
            "enrollment": Param("keep", type="string", enum=list(get_args(Enrollment)), title="Shapes that are known"),
            "start_moment": Param("now", type="string", minLength=3, title="Capture begins", description=START),
            "refresh": Param(True, type="boolean", title="Load tables that exist already"),
        },
    ) as dag:
        wanted = _params("enrollment", "start_moment", "refresh")
        EnrollOperator(task_id="enroll", channel=str(file.absolute()), **wanted)
    return dag


def rewind_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Started by hand with a moment: plan, a person's approval, rewind. Without an answer in time nothing is done."""
    places = [place.name for place in (*channel.replays, *channel.targets)]
    with _dag(
        channel,
        "rewind",
        defaults,
        description=f"Builds the tables of {channel.name} as they were at an earlier moment, in another place",
        doc_md=_about_rewinds(channel, file),
        params={
            "to": Param(type="string", minLength=3, title="Moment or position", description=TO),
            "into": Param(places[0], type="string", enum=places, title="A replay, or a target that goes back and on"),
            "tables": Param("", type="string", format="multiline", title="Tables", description=TABLES),
        },
    ) as dag:
        wanted = _params("to", "into", "tables")
        where = str(file.absolute())
        plan = PlanRewindOperator(task_id="plan", channel=where, **wanted)
        approve = ApprovalOperator(
            task_id="approve",
            subject="Rewind {{ params.into }} to {{ params.to }}?",
            body="{{ ti.xcom_pull(task_ids='plan', key='text') }}",
            defaults="Reject",
            response_timeout=ANSWER_WITHIN,
        )
        rewind = RewindOperator(task_id="rewind", channel=where, **wanted)
        plan >> approve >> rewind
    return dag


def controls_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Started by hand when a target waits: explain, a person's approval, remove. Unanswered, they stay."""
    with _dag(
        channel,
        "controls",
        defaults,
        description=f"Lets targets of {channel.name} go on that wait in front of a schema change",
        doc_md=_about_controls(channel, file),
        params={"control": Param(None, type=["null", "integer"], minimum=1, title="Control", description=CONTROL)},
    ) as dag:
        where = str(file.absolute())
        explain = ExplainControlsOperator(task_id="explain", channel=where, control="{{ params.control or '' }}")
        approve = ApprovalOperator(
            task_id="approve",
            subject=f"Remove these controls of {channel.name}?",
            body="{{ ti.xcom_pull(task_ids='explain', key='text') }}",
            defaults="Reject",
            response_timeout=ANSWER_WITHIN,
        )
        remove = RemoveControlsOperator(task_id="remove", channel=where, controls=explain.output)
        explain >> approve >> remove
    return dag


def _dag(channel: Channel, kind: str, defaults: Mapping[str, Any], **more: Any) -> DAG:
    """One DAG of a channel, by hand unless `more` has a schedule; paused until someone wants it, one run at a time."""
    return DAG(
        dag_id=f"ddlrepl__{channel.name}__{kind}",
        start_date=BEGINNING,
        catchup=False,
        max_active_runs=1,
        is_paused_upon_creation=True,
        auto_register=False,  # it is Airflow's when it stands in a module's globals, not because it was made
        default_args={**DEFAULTS, **_pool(channel), **defaults},
        tags=["ddlrepl", channel.name],
        **{"schedule": None, **more},
    )


def _params(*names: str) -> dict[str, str]:
    """Arguments of a task: what the run's params of these names say."""
    return {name: f"{{{{ params.{name} }}}}" for name in names}


def _pool(channel: Channel) -> dict[str, str]:
    """`[ddlrepl] pool`, where there is one."""
    name = option("pool").replace("{channel}", channel.name)
    return {"pool": name} if name else {}


def _documentation(channel: Channel, file: Path) -> str:
    targets = "\n".join(f"- to **{target.name}**: `{_shown(target.location)}`" for target in channel.targets)
    return f"""Channel **{channel.name}** (`{file.name}`)

- from `{_shown(channel.source.location)}`: {", ".join(f"`{pattern}`" for pattern in channel.source.tables)}
{targets}

`capture` reads the source's log up to now, `adapt` changes the targets' tables as the source's have changed,
`refresh` loads tables that need it, `integrate` applies the rows. A stage with nothing to do starts no Spark.

Other DAGs can wait for what arrives (asset `{data_asset(channel.name).name}`) or for a schema that has changed
(`{schema_asset(channel.name).name}`).
{_about_backfills(channel)}"""


def _about_backfills(channel: Channel) -> str:
    if not channel.replays:
        return ""
    return f"""
A backfill leaves the targets and their positions alone: `replay` brings **{channel.replays[0].name}** (or the replay
that its conf names as `into`) from the start of each interval to its end. One run at a time keeps them in order.
"""


def _about_enrolling(channel: Channel, file: Path) -> str:
    return f"""Activates channel **{channel.name}** (`{file.name}`): prepares the source (publication, slot, event
triggers), enrolls its tables and loads those that exist. Run again it changes nothing but what is asked for:
`enrollment` regenerate inspects every table and lists what the log does not tell, `only` does this and nothing else;
`start_moment` in the past captures once more from the log that the source holds (`hold_log`).
"""


def _about_rewinds(channel: Channel, file: Path) -> str:
    replays = "\n".join(f"- **{replay.name}**: `{_shown(replay.location)}`" for replay in channel.replays)
    return f"""The past of channel **{channel.name}** (`{file.name}`), into one of

{replays}

What an earlier rewind built there is removed first; targets and source are not touched. `into` a target: what the first
of these got takes the places of the target's tables, when it has come up to the target's position.
`plan` tells what will be done and which tables can't be known, `approve` waits for a person (rejected after a day),
`rewind` builds the tables.
"""


def _about_controls(channel: Channel, file: Path) -> str:
    return f"""Controls of channel **{channel.name}** (`{file.name}`): a policy `FAIL_INTEG_JOB` stops a target
in front of a schema change until a person has looked at it.

`explain` tells which controls hold and why, and fails when none does; `approve` waits for a person (rejected after a
day); `remove` removes those that were shown. The next run of `ddlrepl__{channel.name}__replicate` goes on past them.
"""


def _shown(location: str) -> str:
    return re.sub(r"`", "'", redact(location))
