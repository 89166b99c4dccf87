"""Stage 5: do MAP parameters list the base object?"""

from __future__ import annotations

from airflow_ddlrepl.config.goldengate.clauses import MAPPED, OTHER, UNMAPPED
from airflow_ddlrepl.config.goldengate.mapping import targets_of
from airflow_ddlrepl.config.goldengate.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import GOES_ON, Record, Verdict


def check_maps(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Give the scope MAPPED to a statement whose base object a MAP lists, else UNMAPPED; OTHER stays.

    `target` may say already which of several targets this evaluation is for.
    """
    if record.scope is OTHER:
        return record, "OTHER: names stay as they are", GOES_ON
    target = record.target
    if target is None and record.base is not None:
        target = next(iter(targets_of(record.base, parameters, record.dialect)), None)
    if target is None and record.base is None:
        why = "UNMAPPED: the object that {0.operation} {0.object_type} is about is not known"
        return record._replace(scope=UNMAPPED), (why, record), GOES_ON
    if target is None:
        return record._replace(scope=UNMAPPED), ("UNMAPPED: no MAP lists {}", record.base), GOES_ON
    return record._replace(scope=MAPPED, target=target), ("MAPPED: {} to {}", record.base, target), GOES_ON
