"""This module explains values that a server does not take, and tables that a comparison can't read.

It knows which errors mean that, and what mends it.
"""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.engines.postgres.connection.errors import CONTENTION
from airflow_ddlrepl.errors import DdlReplError, SourceError, TargetError, UnreadableTable
from airflow_ddlrepl.model.names import TableName

NOT_A_VALUE = "22P02"
# No such function, object, table, schema; several functions of the name: what types whose values are names say.
_NOT_A_NAME = ("42883", "42704", "42P01", "3F000", "42725", "42602")
MISSING_HERE = (
    "a value names what the target does not have: create it there, or leave the column out (`column_properties`)"
)
OTHER_TYPE = "22"  # a class of SQLSTATE: data that a type does not take


def is_unreadable(error: Any) -> bool:
    """Is the error about a value that its type does not take here: an enum's label, the name of an object?

    error: of psycopg or ADBC, from a statement over staged rows. Where the statement itself names what is missing, the
    server reports the place in it; where a trigger of somebody's does, its context.
    """
    state = getattr(error, "sqlstate", None)
    if state in _NOT_A_NAME:
        diagnosis = getattr(error, "diag", None)
        details = dict(getattr(error, "details", None) or ())
        names = ("statement_position", "context")
        known = [getattr(diagnosis, name, None) or details.get(f"PG_DIAG_{name.upper()}") for name in names]
        return not any(known)
    return bool(state == NOT_A_VALUE)


def unreadable_table(place: str, table: TableName, error: BaseException) -> DdlReplError:
    """Return SourceError SRC-180 or TargetError TGT-180: a table can't be read to compare it.

    place: source or target. error: a driver's, or of one; or UnreadableTable, which has what the server said.
    """
    kind, code = (SourceError, "SRC-180") if place == "source" else (TargetError, "TGT-180")
    states = [getattr(one, "sqlstate", None) for one in (error, error.__cause__)]
    is_locked = any(state in CONTENTION for state in states)
    said = error.said if isinstance(error, UnreadableTable) else ""
    text = " ".join((said or str(error)).split())
    if is_locked:
        hint = "an uncommitted schema change locks it; run again when it has ended"
    elif any((state or "").startswith(OTHER_TYPE) for state in states):
        text = f"values of the source do not fit the types of the target's columns: {text}"
        hint = (
            "was the target's table changed by hand? ddlrepl refresh CHANNEL.yaml --table schema.table loads it again"
        )
    else:
        hint = "GRANT SELECT on the table to this role; row security must let it see every row"
    what = f"the {place}'s table can't be read: {text}"
    return kind(what, code=code, table=table, hint=hint, retryable=is_locked)
