"""Stage 7: a rename becomes ALTER TABLE … RENAME."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import Record, Verdict
from airflow_ddlrepl.goldengate.statement.renames import rewritten


def rewrite_rename(record: Record, parameters: ExtractParameters) -> Verdict:
    """Write RENAME TABLE a TO b as ALTER TABLE a RENAME TO b; comments stay where they stand around it."""
    if not record.is_rename or record.operation != "RENAME":
        return Verdict(record, "written as it is")
    text, command = (rewritten(text, record.dialect) for text in (record.text, record.command))
    return Verdict(record._replace(text=text, command=command, operation="ALTER"), "written as ALTER TABLE … RENAME")
