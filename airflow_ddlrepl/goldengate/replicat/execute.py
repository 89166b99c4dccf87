"""Stage 11: the statement is written in the target's dialect, and run there."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import RUNS, Record, Verdict
from airflow_ddlrepl.goldengate.replicat.errors import UNTRANSLATABLE


def execute(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Give the statement to the target; what it answers is for the stages behind.

    All stages before have seen the source's text. One that can't be translated is an error for DDLERROR, too.
    """
    if record.into is None or record.into is record.dialect:
        return record, ("runs at the target{}", _where(record)), RUNS
    from airflow_ddlrepl.goldengate.translation import Untranslatable, translated  # loads sqlglot

    try:
        text = translated(record.text, record.dialect, record.into)
    except Untranslatable as why:
        found = f"{UNTRANSLATABLE}: it can't be written for {record.into}: {why}"
        return record._replace(untranslatable=str(why)), found, RUNS
    found = f"runs at the target{_where(record)}, written for {record.into}"
    return record._replace(text=text), found, RUNS


def _where(record: Record) -> str:
    return f" with the current schema {record.session_schema}" if record.session_schema else ""
