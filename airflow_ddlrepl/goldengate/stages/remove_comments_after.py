"""Stage: REMOVECOMMENTS AFTER."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.options import AFTER, DdlParameters
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict


def remove_comments_after(record: Record, parameters: DdlParameters) -> Verdict:
    """Remove the comments now that they have been searched and substituted."""
    if AFTER not in parameters.remove_comments:
        return record, "not asked for", GOES_ON
    return record._replace(text=record.command), "comments removed", GOES_ON
