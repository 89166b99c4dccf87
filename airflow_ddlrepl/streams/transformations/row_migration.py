"""This module migrates rows: an update into a subset is an insert there, one out of it a delete."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.streams.messages import Command, RowLcr


def migrated(lcr: RowLcr, subset: Command) -> RowLcr:
    """Return an LCR as the subset rule that is true for it wants it. subset: which of the subset's three rules that is.

    An insert that was an update has every column: values that the update does not have are the old ones.
    """
    if lcr.command is not Command.UPDATE or subset is Command.UPDATE:
        return lcr
    if subset is Command.INSERT:
        return replace(lcr, command=Command.INSERT, new={**lcr.old, **lcr.new}, old={})
    return replace(lcr, command=Command.DELETE, new={})
