"""Stage 1: a statement is captured, as one unit of work."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict


def capture(record: Record, parameters: ExtractParameters) -> Verdict:
    """Take the statement as the source's log has it."""
    return record._replace(text=record.raw), ("{} characters of {} text", len(record.raw), record.dialect), GOES_ON
