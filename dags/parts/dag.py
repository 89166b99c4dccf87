"""Set what all DAGs of a channel share: id, name, tags, pool, retries and how many runs there are at a time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG, Param

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.hooks.settings import option
from airflow_ddlrepl.operators.messages.markdown import dag_id

# A run that finds a server away tries again before it fails; one that finds the channel locked waits (hooks/turn).
DEFAULTS: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=30), "owner": "ddlrepl"}
TABLES = "schema.table, one per line; patterns as in the channel file; empty: all of the channel"
EVERY_DAY, ON_DEMAND = "every day", "on demand"
NAMES = {
    "replicate": ("{channel} (replication)", EVERY_DAY),
    "isolated_refresh": ("{channel} (loads of isolated tables)", EVERY_DAY),
    "compare": ("{channel}: compare and repair", ON_DEMAND),
    "controls": ("{channel}: go on past a control", ON_DEMAND),
    "cutover": ("{channel}: switch applications over", ON_DEMAND),
    "enroll": ("{channel}: activate", ON_DEMAND),
    "maintain": ("{channel}: maintain tables of lakes", EVERY_DAY),
    "plan": ("{channel}: plan of the next cycle", ON_DEMAND),
    "refresh": ("{channel}: load tables again", ON_DEMAND),
    "replay": ("{channel}: replay the past (backfills)", ON_DEMAND),
    "rewind": ("{channel}: rewind to an earlier moment", ON_DEMAND),
}
"""The name of each DAG in Airflow's list, where a channel's DAGs stand together, and how often a person needs it."""
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


def channel_dag(channel: Channel, kind: str, defaults: Mapping[str, Any], **more: Any) -> DAG:
    """Return a DAG of a channel: paused at first, one run at a time, started by hand unless `more` has a schedule."""
    name, often = NAMES[kind]
    return DAG(
        dag_id=dag_id(channel.name, kind),
        dag_display_name=name.format(channel=channel.name),
        start_date=BEGINNING,
        catchup=False,
        max_active_runs=1,
        is_paused_upon_creation=True,
        auto_register=False,  # it is Airflow's when it stands in a module's globals, not because it was made
        default_args={**DEFAULTS, **_pool(channel), **defaults},
        tags=["ddlrepl", channel.name, often],
        **{"schedule": None, **more},
    )


def params(*names: str) -> dict[str, str]:
    """Return arguments of a task: the values of the run's params of these names, an empty text for an empty field."""
    return {name: f"{{{{ '' if params.{name} is none else params.{name} }}}}" for name in names}


def text(title: str, description: str) -> Param:
    """Return a field of several lines that may stay empty: Airflow's form requires a value of every plain string."""
    return Param(None, type=["null", "string"], format="multiline", title=title, description=description)


def _pool(channel: Channel) -> dict[str, str]:
    """Return the task argument for the pool in `[ddlrepl] pool`; empty when there is none."""
    name = option("pool").replace("{channel}", channel.name)
    return {"pool": name} if name else {}


def shown(location: str) -> str:
    """Return a location as Markdown code, without its password."""
    return re.sub(r"`", "'", redact(location))
