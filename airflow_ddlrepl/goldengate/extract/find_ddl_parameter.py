"""Stage 3: is there a DDL parameter? Without one no DDL is captured."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import DISCARDED, GOES_ON, Record, Verdict


def find_ddl_parameter(record: Record, parameters: ExtractParameters) -> Verdict:
    """Discard every statement where the parameters have no DDL."""
    if parameters.ddl is None:
        return record, "there is no DDL parameter: no DDL is captured", DISCARDED
    return record, ("{} INCLUDE, {} EXCLUDE", len(parameters.ddl.include), len(parameters.ddl.exclude)), GOES_ON
