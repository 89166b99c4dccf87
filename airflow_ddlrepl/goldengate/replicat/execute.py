"""Stage 11: the statement is run at the target."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import Outcome, Record, Verdict


def execute(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Give the statement to the target; what it answers is for the stages behind."""
    where = f" with the current schema {record.session_schema}" if record.session_schema else ""
    return Verdict(record, f"runs at the target{where}", Outcome.RUNS)
