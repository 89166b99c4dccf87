"""Stage 6: the base object gets its name of the target."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.clauses import DdlScope
from airflow_ddlrepl.config.goldengate.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import Record, Verdict
from airflow_ddlrepl.goldengate.replicat.names import with_base


def map_base_name(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Write the name of the target in place of the base object's; literals, comments and columns stay."""
    if record.scope is not DdlScope.MAPPED or record.target is None:
        schema = record.base.schema if record.scope is DdlScope.UNMAPPED and record.base is not None else ""
        where = f", runs with the current schema {schema}" if schema else ""
        return Verdict(record._replace(session_schema=schema), f"names stay{where}")
    text = with_base(record, record.target, parameters)
    return Verdict(record._replace(text=text), f"{record.base} is {record.target}")
