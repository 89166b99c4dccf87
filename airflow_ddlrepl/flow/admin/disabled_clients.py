"""The status says which clients of Streams an error in a rule or a transformation has stopped."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_ddlrepl.config.sections.streams import Streams
from airflow_ddlrepl.errors.carried import kind_named
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.stages import CAPTURE, STAGES, Stage
from airflow_ddlrepl.repository.rows import RunRow, RunStatus


def disabled_clients(context: RunContext, runs: Iterable[RunRow]) -> list[str]:
    """Return for each kind of client whose last run such an error has ended which one it is, and the error.

    runs: the channel's newest first. It goes on, where it was, as soon as rule, transformation or function are changed.
    """
    found = []
    for row in {row.stage: row for row in reversed([*runs])}.values():
        who = _who(context.channel.clients, STAGES[row.stage]) if row.stage in STAGES else ""
        if not who or row.status is not RunStatus.FAILED:
            continue
        errors = [
            one for one in context.repository.errors_of_run(context.channel.name, row.run_id) if one.stage == row.stage
        ]
        if errors and kind_named(errors[-1].kind).disables_client:
            found.append(f"{who} disabled: {errors[-1].code}: {errors[-1].message}")
    return sorted(found)


def _who(section: Streams, stage: Stage) -> str:
    """Return the clients of a stage in words, with their verb; empty: it is the work of none."""
    if stage is CAPTURE:
        return f"{stage.clients} {section.capture_name} is".replace("  ", " ") if section.captures else ""
    return f"the {stage.clients} are" if stage.clients else ""
