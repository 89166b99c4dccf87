"""A remedy is a statement of the source that helps where a target refuses something."""

from __future__ import annotations

from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.run.context import RunContext


def remedy_for(run: RunContext, error: DdlReplError) -> str:
    """Return how to create what an error says the target lacks, as the source has it; else nothing."""
    text = run.source.catalog.creation_text(error.missing) if error.missing else ""
    sort = "a function" if "(" in error.missing else error.missing
    return f"the target lacks {sort} that the source has: {text}" if text else ""
