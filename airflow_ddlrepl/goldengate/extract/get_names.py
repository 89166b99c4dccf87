"""Stage 6: the base object, and the object that is derived from it."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import Record, Verdict
from airflow_ddlrepl.goldengate.statement.objects import base_and_derived


def get_names(record: Record, parameters: ExtractParameters) -> Verdict:
    """Get the names of what the statement is about; of a rename the new name is the base, the old one is derived."""
    base, derived = base_and_derived(record.reading, record.schema, record.known_base)
    found = ", ".join(f"{what} {name}" for what, name in (("base", base), ("derived", derived)) if name is not None)
    return Verdict(record._replace(base=base, derived=derived), found or "no name")
