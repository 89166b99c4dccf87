"""Stage 4: does the statement qualify for name mapping? If not its scope is OTHER."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.clauses import OTHER
from airflow_ddlrepl.config.goldengate.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict
from airflow_ddlrepl.goldengate.statement.names import read
from airflow_ddlrepl.goldengate.statement.objects import base_and_derived
from airflow_ddlrepl.goldengate.statement.operation import is_mappable


def qualify(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Read what the statement is about, whatever Extract has found, and whether such a statement can be mapped."""
    reading = read(record.text, record.dialect)
    base, derived = base_and_derived(reading, record.schema, record.known_base)
    record = record._replace(
        reading=reading,
        operation=reading.operation,
        object_type=reading.object_type,
        is_rename=reading.is_rename,
        base=base,
        derived=derived,
    )
    if is_mappable(record.operation, record.object_type):
        return record, ("{0.operation} {0.object_type} can be mapped", record), GOES_ON
    why = f"OTHER: {record.operation} {record.object_type}".rstrip()
    return record._replace(scope=OTHER), why, GOES_ON
