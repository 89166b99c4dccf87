"""Stage 13: ADDTRANDATA for a table that is created."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import Record, Verdict


def add_trandata(record: Record, parameters: ExtractParameters) -> Verdict:
    """Have the source log whole rows of a new table; other operations need no logging command."""
    if not parameters.add_trandata:
        return Verdict(record, "not asked for")
    if (record.operation, record.object_type) != ("CREATE", "TABLE") or record.base is None:
        return Verdict(record, "no CREATE TABLE")
    return Verdict(record._replace(trandata=record.base), f"{record.base} logs whole rows from here on")
