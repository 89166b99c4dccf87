"""Stage 4: DDL that a Replicat has run on this system is left out, or not."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import Outcome, Record, Verdict


def ignore_replicates(record: Record, parameters: ExtractParameters) -> Verdict:
    """Discard a statement of a Replicat on this system, unless GETREPLICATES asks for it."""
    if not record.is_replicated:
        return Verdict(record, "no Replicat has run it")
    if parameters.ignore_replicates:
        return Verdict(record, "ignorereplicates: a Replicat has run it on this system", Outcome.DISCARDED)
    return Verdict(record, "a Replicat has run it, and GETREPLICATES takes it")
