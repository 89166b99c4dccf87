"""Stage 1: a statement is read from the trail."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict


def read_from_trail(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Take the statement at its place among the rows of the trail."""
    return record._replace(text=record.raw), ("{} characters of {} text", len(record.raw), record.dialect), GOES_ON
