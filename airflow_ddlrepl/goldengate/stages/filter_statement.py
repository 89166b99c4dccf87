"""Stage: the INCLUDE and EXCLUDE clauses of the DDL parameter."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.clauses import Filters
from airflow_ddlrepl.config.goldengate.options import DdlParameters
from airflow_ddlrepl.goldengate.filters.clause import decide
from airflow_ddlrepl.goldengate.record import DISCARDED, GOES_ON, Record, Verdict

_NONE = Filters()


def filter_statement(record: Record, parameters: DdlParameters) -> Verdict:
    """Discard a statement that an EXCLUDE clause is true for, or no INCLUDE clause where there are any."""
    filters = parameters.ddl or _NONE
    is_included, why = decide(filters.include, filters.exclude, record)
    return record, why, GOES_ON if is_included else DISCARDED
