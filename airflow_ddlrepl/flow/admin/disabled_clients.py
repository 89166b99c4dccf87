"""The status says which clients of Streams an error in a rule or a transformation has stopped."""

from __future__ import annotations

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.repository.rows import RunStatus

_STAGES = {
    "capture": "capture process",
    "sync_capture": "synchronous captures",
    "propagate": "propagations",
    "apply": "apply processes",
}
FAMILIES = ("RUL", "APL")
"""The families of errors that a rule, a transformation or a custom function makes, or a target of an apply process."""


def disabled_clients(context: RunContext) -> list[str]:
    """Return for each kind of client whose last run such an error has ended which one it is, and the error.

    It goes on, where it was, as soon as rule, transformation or function are changed.
    """
    if context.channel.streams is None:
        return []
    found = []
    newest = {row.stage: row for row in reversed(context.repository.runs(context.channel.name))}
    for stage in _STAGES.keys() & newest.keys():
        row = newest[stage]
        if row.status is not RunStatus.FAILED:
            continue
        errors = [
            one for one in context.repository.errors_of_run(context.channel.name, row.run_id) if one.stage == stage
        ]
        if errors and errors[-1].family in FAMILIES:
            found.append(f"{_who(context.channel, stage)} disabled: {errors[-1].code}: {errors[-1].message}")
    return sorted(found)


def _who(channel: Channel, stage: str) -> str:
    """Return the clients of a stage in words, with their verb."""
    if stage != "capture" or channel.streams is None:
        return f"the {_STAGES[stage]} are"
    return f"capture process {channel.streams.capture_name} is".replace("  ", " ")
