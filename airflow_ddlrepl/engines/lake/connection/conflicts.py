"""This module has the errors of a run whose tables, or whose names, somebody else has meanwhile."""

from __future__ import annotations

import sys

from airflow_ddlrepl.errors import CannotAdapt, DriverMissing, Unreachable, Unsupported, WrittenMeanwhile
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


def driver_missing(of: str, extra: str, error: ImportError) -> DriverMissing:
    """Return the error of a server without a driver in this Python. of: what it is. extra: which brings the driver."""
    return DriverMissing(
        f"no driver of {of} is installed in {sys.executable}: {error}",
        code="CON-113",
        hint=f"pip install 'airflow-ddlrepl[{extra}]', wherever the channel's tasks run",
    )


def catalog_unreachable(name: str, why: str) -> Unreachable:
    """Return the error of a catalog beside the database that refuses, or does not answer. name: of it, for people."""
    return Unreachable(
        f"the catalog of a lake ({name}) refuses, or does not answer: {why}",
        code="CON-125",
        hint="check what the location says of it, its login and its server; the next run goes on from what it has done",
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


def name_refused(name: TableName, why: str) -> Unsupported:
    """Return the error of a table whose name the catalog of a lake does not take."""
    return Unsupported(
        f"the catalog of a lake takes no such name of a table: {why}",
        code="ADP-110",
        table=name,
        hint="give the table another name for this target (`table_properties`), or leave it out of the channel",
    )
