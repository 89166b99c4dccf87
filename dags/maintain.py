"""This DAG maintains the tables of a channel's lakes, every night."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import DAG, CronTriggerTimetable, Param

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.dags.parts.dag import TABLES, channel_dag, params, text
from airflow_ddlrepl.flow.stages import DELETED_PERCENT, RETAIN, SMALL_FILES
from airflow_ddlrepl.operators.maintain import LakeMaintenanceOperator
from airflow_ddlrepl.operators.messages.markdown import code

EVERY_NIGHT = "0 3 * * *"
FIELDS = {
    "retain": (RETAIN.default, "Retain", "how long tables can be read as they were: 5d, 12h"),
    "small_files": (SMALL_FILES.default, "Small files", "so many small files of a table become few"),
    "deleted_percent": (DELETED_PERCENT.default, "Deleted rows", "a file with so many percent is written again"),
}


def maintain_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Return the DAG that compacts the tables of lakes every night, and removes what nobody needs any more."""
    with channel_dag(
        channel,
        "maintain",
        defaults,
        description=f"Compacts the tables of {channel.name} in lakes, and removes what nobody needs",
        doc_md=_about(channel, file),
        schedule=CronTriggerTimetable(EVERY_NIGHT, timezone="UTC"),
        params={
            "tables": text("Tables", TABLES),
            **{
                name: Param(default, type="string", title=title, description=what)
                for name, (default, title, what) in FIELDS.items()
            },
        },
    ) as dag:
        LakeMaintenanceOperator(task_id="maintain", channel=str(file.absolute()), **params("tables"), **params(*FIELDS))
    return dag


def _about(channel: Channel, file: Path) -> str:
    return f"""Maintains the tables of channel **{channel.name}** ({code(file.name)}) in lakes, as `ddlrepl maintain`
does: small files, and files with many deleted rows, become few; snapshots that are older than `retain`, and files that
belong to nothing, are removed. No row changes. Snapshots with a tag or in a branch stay. While it runs, runs of
`ddlrepl__{channel.name}__replicate` wait.
"""
