"""A table that a comparison can't read, and what mends it."""

from __future__ import annotations

from airflow_ddlrepl.engines.postgres.connect import CONTENTION
from airflow_ddlrepl.errors import DdlReplError, SourceError, TargetError
from airflow_ddlrepl.model.names import TableName


def unreadable(place: str, table: TableName, error: BaseException) -> DdlReplError:
    """SourceError SRC-180 or TargetError TGT-180. place: source or target. error: a driver's, or of one."""
    kind, code = (SourceError, "SRC-180") if place == "source" else (TargetError, "TGT-180")
    states = (getattr(one, "sqlstate", None) for one in (error, error.__cause__))
    is_locked = any(state in CONTENTION for state in states)
    return kind(
        f"the {place}'s table can't be read: {' '.join(str(error).split())}",
        code=code,
        table=table,
        hint="a schema change that is not committed holds it; run again when it is"
        if is_locked
        else "GRANT SELECT on the table to this role; row security must let it see every row",
        retryable=is_locked,
    )
