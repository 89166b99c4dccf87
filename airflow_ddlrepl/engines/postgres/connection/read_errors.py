"""A table that a comparison can't read, and what mends it."""

from __future__ import annotations

from airflow_ddlrepl.engines.postgres.connection.errors import CONTENTION
from airflow_ddlrepl.errors import DdlReplError, SourceError, TargetError
from airflow_ddlrepl.model.names import TableName

OTHER_TYPE = "22"  # a class of SQLSTATE: data that a type does not take


def unreadable(place: str, table: TableName, error: BaseException) -> DdlReplError:
    """SourceError SRC-180 or TargetError TGT-180. place: source or target. error: a driver's, or of one."""
    kind, code = (SourceError, "SRC-180") if place == "source" else (TargetError, "TGT-180")
    states = [getattr(one, "sqlstate", None) for one in (error, error.__cause__)]
    is_locked = any(state in CONTENTION for state in states)
    said = " ".join(str(error).split())
    if is_locked:
        hint = "a schema change that is not committed holds it; run again when it is"
    elif any((state or "").startswith(OTHER_TYPE) for state in states):
        said = f"values of the source do not fit the types of the target's columns: {said}"
        hint = (
            "was the target's table changed by hand? ddlrepl refresh CHANNEL.yaml --table schema.table loads it again"
        )
    else:
        hint = "GRANT SELECT on the table to this role; row security must let it see every row"
    what = f"the {place}'s table can't be read: {said}"
    return kind(what, code=code, table=table, hint=hint, retryable=is_locked)
