"""Stage 7: a rename becomes ALTER TABLE … RENAME."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict
from airflow_ddlrepl.goldengate.statement.renames import rewritten


def rewrite_rename(record: Record, parameters: ExtractParameters) -> Verdict:
    """Write RENAME TABLE a TO b as ALTER TABLE a RENAME TO b; comments stay where they stand around it."""
    if not record.is_rename or record.operation != "RENAME":
        return record, "written as it is", GOES_ON
    text, command = (rewritten(text, record.dialect) for text in (record.text, record.command))
    record = record._replace(text=text, command=command, operation="ALTER")
    return record, "written as ALTER TABLE … RENAME", GOES_ON
