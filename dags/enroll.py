"""This DAG activates a channel: it prepares the source, enrolls its tables and loads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from airflow.sdk import DAG, Param

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.policies import Accepted, Enrollment, TrailChoice
from airflow_ddlrepl.dags.parts.dag import channel_dag, params
from airflow_ddlrepl.operators.enroll import EnrollOperator
from airflow_ddlrepl.operators.messages.markdown import code

START = "now; oldest, as far back as the source holds its log; a moment with its offset, or a position of the log"

TRAIL = "new: the trail is lost or damaged; another one begins, and every target loads every table again"

ACCEPT = "source, repository: an older copy was put back, and every table is loaded again; server: it was upgraded"


def enroll_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Return the DAG that a person starts to prepare the source, enroll its tables and load them.

    Repeated, it changes only what its params ask for.
    """
    with channel_dag(
        channel,
        "enroll",
        defaults,
        description=f"Activates {channel.name}: prepares the source, enrolls its tables, loads them",
        doc_md=_about_enrolling(channel, file),
        params={
            "enrollment": Param("keep", type="string", enum=list(get_args(Enrollment)), title="Known shapes"),
            "start_moment": Param("now", type="string", minLength=3, title="Capture begins", description=START),
            "trail": Param("keep", type="string", enum=list(get_args(TrailChoice)), title="Trail", description=TRAIL),
            "accept": Param("nothing", enum=list(get_args(Accepted)), title="Accept", description=ACCEPT),
            "refresh": Param(True, type="boolean", title="Load tables that exist already"),
        },
    ) as dag:
        wanted = params("enrollment", "start_moment", "refresh", "trail", "accept")
        EnrollOperator(task_id="enroll", channel=str(file.absolute()), **wanted)
    return dag


def _about_enrolling(channel: Channel, file: Path) -> str:
    return f"""Activates channel **{channel.name}** ({code(file.name)}): prepares the source (publication, slot, event
triggers), enrolls its tables and loads those that exist. Run again, it changes only what its params request:
`enrollment` regenerate inspects every table and lists what the log does not contain, `only` does this and nothing else;
`start_moment` in the past captures once more from the log that the source holds (`hold_log`); `trail` new begins
another trail where the old one is lost, and loads every table again.
"""
