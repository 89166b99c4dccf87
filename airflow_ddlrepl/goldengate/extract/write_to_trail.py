"""Stage 14: the statement is written to the trail."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import WRITTEN, Record, Verdict


def write_to_trail(record: Record, parameters: ExtractParameters) -> Verdict:
    """Give the statement to the trail, behind what came before it in the log."""
    if not record.object_type:
        return record, f"{record.scope} {record.operation}".rstrip(), WRITTEN
    return record, ("{0.scope} {0.operation} {0.object_type}", record), WRITTEN
