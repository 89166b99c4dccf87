"""Stage 5: does the statement rename a table?"""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict
from airflow_ddlrepl.goldengate.statement.names import read


def detect_rename(record: Record, parameters: ExtractParameters) -> Verdict:
    """Read what the statement does, and flag one that gives a table another name; of a column it is none."""
    reading = read(record.text, record.dialect)
    record = record._replace(
        reading=reading,
        operation=reading.operation,
        object_type=reading.object_type,
        is_rename=reading.is_rename,
    )
    return record, "a rename" if reading.is_rename else "no rename", GOES_ON
