"""Stage: REMOVECOMMENTS AFTER."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.options import DdlParameters, RemoveComments
from airflow_ddlrepl.goldengate.record import Record, Verdict


def remove_comments_after(record: Record, parameters: DdlParameters) -> Verdict:
    """Remove the comments now that they have been searched and substituted."""
    if RemoveComments.AFTER not in parameters.remove_comments:
        return Verdict(record, "not asked for")
    return Verdict(record._replace(text=record.command), "comments removed")
