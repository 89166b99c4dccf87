"""Stage 14: the statement is written to the trail."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import Outcome, Record, Verdict


def write_to_trail(record: Record, parameters: ExtractParameters) -> Verdict:
    """Give the statement to the trail, behind what came before it in the log."""
    return Verdict(record, f"{record.scope} {record.operation} {record.object_type}".rstrip(), Outcome.WRITTEN)
