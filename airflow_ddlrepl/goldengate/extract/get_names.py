"""Stage 6: the base object, and the object that is derived from it."""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict
from airflow_ddlrepl.goldengate.statement.objects import base_and_derived

_FOUND = {
    (False, False): "no name",
    (True, False): "base {0.base}",
    (False, True): "derived {0.derived}",
    (True, True): "base {0.base}, derived {0.derived}",
}
"""What is said, by whether there is a base object and whether there is a derived one."""


def get_names(record: Record, parameters: ExtractParameters) -> Verdict:
    """Get the names of what the statement is about; of a rename the new name is the base, the old one is derived."""
    base, derived = base_and_derived(record.reading, record.schema, record.known_base)
    record = record._replace(base=base, derived=derived)
    return record, (_FOUND[base is not None, derived is not None], record), GOES_ON
