"""Stage 13: ADDTRANDATA for a table that is created."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict


def add_trandata(record: Record, parameters: ExtractParameters) -> Verdict:
    """Have the source log whole rows of a new table; other operations need no logging command."""
    if not parameters.add_trandata:
        return record, "not asked for", GOES_ON
    if (record.operation, record.object_type) != ("CREATE", "TABLE") or record.base is None:
        return record, "no CREATE TABLE", GOES_ON
    return record._replace(trandata=record.base), ("{} logs whole rows from here on", record.base), GOES_ON
