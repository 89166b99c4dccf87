"""Stage: DDLSUBST."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.options import DdlParameters
from airflow_ddlrepl.goldengate.filters.substitution import substitute
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict


def substitute_text(record: Record, parameters: DdlParameters) -> Verdict:
    """Replace text by each DDLSUBST that is true for the statement, in the order of the file."""
    record, *counts = substitute(record, parameters.substitutions)
    return record, ("{} evaluated, {} true, {} places replaced", *counts), GOES_ON
