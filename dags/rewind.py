"""This DAG builds tables as of an earlier moment: plan, a person's approval, rewind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.dags.parts.approval import approval
from airflow_ddlrepl.dags.parts.dag import TABLES, channel_dag, params, shown, text
from airflow_ddlrepl.operators.messages.markdown import code
from airflow_ddlrepl.operators.rewind import PlanRewindOperator, RewindOperator

TO = "2026-11-21T08:00:00+00:00 (with its offset), or a position of the source's log such as 0/16B3748"


def rewind_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Return the DAG that a person starts with a moment: plan the rewind, ask, rewind.

    Without an answer in time nothing is done.
    """
    places = [place.name for place in (*channel.replays, *channel.targets)]
    with channel_dag(
        channel,
        "rewind",
        defaults,
        description=f"Builds the tables of {channel.name} as they were at an earlier moment, in another place",
        doc_md=_about_rewinds(channel, file),
        params={
            "to": Param(type="string", minLength=3, title="Moment or position", description=TO),
            "into": Param(places[0], type="string", enum=places, title="A replay, or a target that goes back and on"),
            "tables": text("Tables", TABLES),
        },
    ) as dag:
        wanted = params("to", "into", "tables")
        where = str(file.absolute())
        plan = PlanRewindOperator(task_id="plan", channel=where, **wanted)
        approve = approval("Rewind {{ params.into }} to {{ params.to }}?", of="plan")
        rewind = RewindOperator(task_id="rewind", channel=where, **wanted)
        plan >> approve >> rewind
    return dag


def _about_rewinds(channel: Channel, file: Path) -> str:
    replays = "\n".join(f"- **{replay.name}**: {code(shown(replay.location))}" for replay in channel.replays)
    return f"""The past of channel **{channel.name}** ({code(file.name)}), into one of

{replays}

What an earlier rewind built there is removed first; targets and source are not touched. With `into` a target, the first
of these is replayed up to the target's position, and then its tables replace the target's.

`plan` shows what will be done and which tables can't be rebuilt, `approve` waits for a person (rejected after a day),
`rewind` builds the tables.
"""
