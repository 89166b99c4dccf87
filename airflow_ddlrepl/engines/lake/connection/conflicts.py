"""This module has the errors of a run whose tables, or whose names, somebody else has meanwhile."""

from __future__ import annotations

from airflow_ddlrepl.errors import CannotAdapt, WrittenMeanwhile
from airflow_ddlrepl.model.names import TableName


def written_meanwhile(name: TableName) -> WrittenMeanwhile:
    """Return the error of a run that has read a table before somebody else has written to it."""
    return WrittenMeanwhile(
        f"somebody else has written to {name} in the lake meanwhile, or has dropped it",
        code="TGT-112",
        table=name,
        hint="nothing was written; run again: a run starts from what the table has then",
        retryable=True,
    )


def name_taken(name: TableName) -> CannotAdapt:
    """Return the error of a table that is made under a name that another one has."""
    return CannotAdapt(
        f"another table or view of the lake has the name {name}",
        code="ADP-104",
        table=name,
        hint="rename or drop it there; then run again",
    )
