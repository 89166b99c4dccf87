"""Stage 7: MAPDERIVED: the derived object gets its name of the target."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.config.goldengate.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import Record, Verdict
from airflow_ddlrepl.goldengate.replicat.names import derived_target, with_derived
from airflow_ddlrepl.goldengate.statement.comments import split_comments


def map_derived_name(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Write the name of the derived object at the target, unless NOMAPDERIVED leaves it as at the source."""
    why = "there is none"
    derived = record.derived
    if derived is not None and record.target is not None:
        why = "NOMAPDERIVED: it stays"
        if parameters.map_derived and (name := derived_target(record, parameters)) is not None:
            record = replace(record, text=with_derived(record, name), derived=name)
            why = f"{derived} is {name}"
    elif derived is not None:
        why = "the base object is not mapped: it stays"
    command, _ = split_comments(record.text, record.dialect)
    return Verdict(replace(record, command=command, base=record.target or record.base), why)
