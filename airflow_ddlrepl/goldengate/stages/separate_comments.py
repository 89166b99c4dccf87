"""Stage: comments are separated from the command."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.options import DdlParameters
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict
from airflow_ddlrepl.goldengate.statement.comments import split_comments


def separate_comments(record: Record, parameters: DdlParameters) -> Verdict:
    """Hold the command and its comments apart; the text itself still has both."""
    command, comments = split_comments(record.raw, record.dialect)
    found = ("{} comments", len(comments)) if comments else "no comments"
    return record._replace(command=command, comments=comments), found, GOES_ON
