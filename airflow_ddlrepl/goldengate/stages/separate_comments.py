"""Stage: comments are separated from the command."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.config.goldengate.options import DdlParameters
from airflow_ddlrepl.goldengate.record import Record, Verdict
from airflow_ddlrepl.goldengate.statement.comments import comments_of, without_comments
from airflow_ddlrepl.goldengate.statement.scan import scan


def separate_comments(record: Record, parameters: DdlParameters) -> Verdict:
    """Hold the command and its comments apart; the text itself still has both."""
    pieces = tuple(scan(record.raw, record.dialect))
    comments = comments_of(pieces)
    command = without_comments(record.raw, pieces).strip()
    found = f"{len(comments)} comments" if comments else "no comments"
    return Verdict(replace(record, command=command, comments=comments), found)
