"""Stage 5: do MAP parameters list the base object?"""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.config.goldengate.clauses import DdlScope
from airflow_ddlrepl.config.goldengate.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.filters.mapping import targets_of
from airflow_ddlrepl.goldengate.record import Record, Verdict


def check_maps(record: Record, parameters: ReplicatParameters) -> Verdict:
    """Give the scope MAPPED to a statement whose base object a MAP lists, else UNMAPPED; OTHER stays.

    `target` may say already which of several targets this evaluation is for.
    """
    if record.scope is DdlScope.OTHER:
        return Verdict(record, "OTHER: names stay as they are")
    targets = targets_of(record.base, parameters) if record.base is not None else ()
    if not targets:
        return Verdict(replace(record, scope=DdlScope.UNMAPPED, target=None), f"UNMAPPED: no MAP lists {record.base}")
    target = record.target or targets[0]
    return Verdict(replace(record, scope=DdlScope.MAPPED, target=target), f"MAPPED: {record.base} to {target}")
