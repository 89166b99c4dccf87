"""Stage 4: DDL that a Replicat has run on this system is left out, or not."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import DISCARDED, GOES_ON, Record, Verdict


def ignore_replicates(record: Record, parameters: ExtractParameters) -> Verdict:
    """Discard a statement of a Replicat on this system, unless GETREPLICATES asks for it."""
    if not record.is_replicated:
        return record, "no Replicat has run it", GOES_ON
    if parameters.ignore_replicates:
        return record, "ignorereplicates: a Replicat has run it on this system", DISCARDED
    return record, "a Replicat has run it, and GETREPLICATES takes it", GOES_ON
