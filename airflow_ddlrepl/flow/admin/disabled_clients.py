"""The status says which clients of Streams an error in a rule or a transformation has stopped."""

from __future__ import annotations

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors.carried import kind_named
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.stages import CAPTURE, STAGES, Stage
from airflow_ddlrepl.repository.rows import RunStatus


def disabled_clients(context: RunContext) -> list[str]:
    """Return for each kind of client whose last run such an error has ended which one it is, and the error.

    It goes on, where it was, as soon as rule, transformation or function are changed.
    """
    if context.channel.streams is None:
        return []
    found = []
    newest = {row.stage: row for row in reversed(context.repository.runs(context.channel.name))}
    for stage in (one for one in STAGES.values() if one.clients):
        row = newest.get(stage.name)
        if row is None or row.status is not RunStatus.FAILED:
            continue
        errors = [
            one for one in context.repository.errors_of_run(context.channel.name, row.run_id) if one.stage == stage.name
        ]
        if errors and kind_named(errors[-1].kind).disables_client:
            found.append(f"{_who(context.channel, stage)} disabled: {errors[-1].code}: {errors[-1].message}")
    return sorted(found)


def _who(channel: Channel, stage: Stage) -> str:
    """Return the clients of a stage in words, with their verb."""
    if stage is not CAPTURE or channel.streams is None:
        return f"the {stage.clients} are"
    return f"{stage.clients} {channel.streams.capture_name} is".replace("  ", " ")
