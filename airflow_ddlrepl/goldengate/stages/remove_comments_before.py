"""Stage: REMOVECOMMENTS BEFORE."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.options import BEFORE, DdlParameters
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict


def remove_comments_before(record: Record, parameters: DdlParameters) -> Verdict:
    """Remove the comments from the text; INSTRCOMMENTS still finds them."""
    if BEFORE not in parameters.remove_comments:
        return record, "not asked for", GOES_ON
    why = ("{} comments removed, stored for filters", len(record.comments))
    return record._replace(text=record.command), why, GOES_ON
