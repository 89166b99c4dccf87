"""Stage 7: MAPDERIVED: the derived object gets its name of the target."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict, Why
from airflow_ddlrepl.goldengate.replicat.names import derived_target, with_derived
from airflow_ddlrepl.goldengate.statement.comments import split_comments


def map_derived_name(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Write the name of the derived object at the target, unless NOMAPDERIVED leaves it as at the source."""
    why: Why = "there is none"
    derived = record.derived
    if derived is not None and record.target is not None:
        why = "NOMAPDERIVED: it stays"
        if parameters.map_derived and (name := derived_target(record, parameters)) is not None:
            record = record._replace(text=with_derived(record, name), derived=name)
            why = ("{} is {}", derived, name)
    elif derived is not None:
        why = "the base object is not mapped: it stays"
    if record.target is not None:
        record = record._replace(command=_command(record), base=record.target)
    return record, why, GOES_ON


def _command(record: Record) -> str:
    """Return the text without comments; a statement that had none gets none from a name."""
    return split_comments(record.text, record.dialect)[0] if record.comments else record.text.strip()
