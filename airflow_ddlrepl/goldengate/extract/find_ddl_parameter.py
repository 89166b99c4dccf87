"""Stage 3: is there a DDL parameter? Without one no DDL is captured."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import Outcome, Record, Verdict


def find_ddl_parameter(record: Record, parameters: ExtractParameters) -> Verdict:
    """Discard every statement where the parameters have no DDL."""
    if parameters.ddl is None:
        return Verdict(record, "there is no DDL parameter: no DDL is captured", Outcome.DISCARDED)
    return Verdict(record, f"{len(parameters.ddl.include)} INCLUDE, {len(parameters.ddl.exclude)} EXCLUDE")
