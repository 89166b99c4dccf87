"""A statement that alters a table, and that the target's server refuses, is an error about the table and its change."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.adapt.plan.refused_alter import MEND
from airflow_ddlrepl.adapt.program.program import ProgramStep
from airflow_ddlrepl.engines.postgres.connection.errors import is_about_rows, message_of, missing_object
from airflow_ddlrepl.errors import AlterRefused


def alter_refused(step: ProgramStep, statement: str, error: Any) -> AlterRefused:
    """Return the error for a statement of a step that the server refuses. error: psycopg's."""
    return AlterRefused(
        f"the target refuses `{statement}`: {message_of(error)}",
        on=(step.table_id, step.key),
        by_rows=is_about_rows(error),
        is_text=step.runs_text,
        sqlstate=error.sqlstate or "",
        missing=missing_object(error),
        code="ADP-130",
        table=step.plan.name if step.plan else None,
        at=step.key,
        hint=f"neither this change nor what follows it in this table is applied; {MEND}",
    )
