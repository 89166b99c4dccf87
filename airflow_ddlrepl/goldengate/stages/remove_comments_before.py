"""Stage: REMOVECOMMENTS BEFORE."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.options import DdlParameters, RemoveComments
from airflow_ddlrepl.goldengate.record import Record, Verdict


def remove_comments_before(record: Record, parameters: DdlParameters) -> Verdict:
    """Remove the comments from the text; INSTRCOMMENTS still finds them."""
    if RemoveComments.BEFORE not in parameters.remove_comments:
        return Verdict(record, "not asked for")
    return Verdict(record._replace(text=record.command), f"{len(record.comments)} comments removed, stored for filters")
