"""Stage 6: the base object gets its name of the target."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.clauses import MAPPED, UNMAPPED
from airflow_ddlrepl.config.goldengate.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict
from airflow_ddlrepl.goldengate.replicat.names import with_base


def map_base_name(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Write the name of the target in place of the base object's; literals, comments and columns stay."""
    if record.scope is not MAPPED or record.target is None:
        schema = record.base.schema if record.scope is UNMAPPED and record.base is not None else ""
        if not schema:
            return record, "names stay", GOES_ON
        return record._replace(session_schema=schema), ("names stay, runs with the current schema {}", schema), GOES_ON
    text = with_base(record, record.target, parameters)
    return record._replace(text=text), ("{0.base} is {0.target}", record), GOES_ON
