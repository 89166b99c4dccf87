"""Stage 7: MAPDERIVED: the derived object gets its name of the target."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict, Why
from airflow_ddlrepl.goldengate.replicat.names import derived_target, former_name, lies_with_its_table, with_derived
from airflow_ddlrepl.goldengate.statement.comments import split_comments
from airflow_ddlrepl.model.names import TableName


def map_derived_name(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Write the name of the derived object at the target, unless NOMAPDERIVED leaves it as at the source."""
    why: Why = "there is none"
    derived = record.derived
    if derived is not None and record.target is not None:
        why = "NOMAPDERIVED: it stays"
        name = derived_target(record, parameters) if parameters.map_derived else None
        if name is None and lies_with_its_table(record):
            name = TableName(record.target.schema, derived.name)
        if name is not None:
            why = _why(record, derived, name, parameters)
            record = record._replace(text=with_derived(record, name), derived=name)
    elif derived is not None:
        why = "the base object is not mapped: it stays"
    if record.target is not None:
        record = record._replace(command=_command(record), base=record.target)
    return record, why, GOES_ON


def _why(record: Record, derived: TableName, name: TableName, parameters: ReplicatParameters) -> Why:
    if record.is_rename and former_name(record, parameters) is None:
        why = "{} is {}: no MAP of this TARGET lists it; a channel's target that lacks the table loads it instead"
        return why, derived, name
    return "{} is {}" if parameters.map_derived else "NOMAPDERIVED: {} lies with its table: {}", derived, name


def _command(record: Record) -> str:
    """Return the text without comments; a statement that had none gets none from a name."""
    return split_comments(record.text, record.dialect)[0] if record.comments else record.text.strip()
