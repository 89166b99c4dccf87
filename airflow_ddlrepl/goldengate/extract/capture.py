"""Stage 1: a statement is captured, as one unit of work."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import Record, Verdict


def capture(record: Record, parameters: ExtractParameters) -> Verdict:
    """Take the statement as the source's log has it."""
    return Verdict(record._replace(text=record.raw), f"{len(record.raw)} characters of {record.dialect} text")
