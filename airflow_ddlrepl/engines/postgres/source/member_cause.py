"""This module defines the causes why the rows of a channel's table are not in the log as they should be.

They are the values of column `cause` of ddlrepl.member.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection

LATE = "published late: its first rows come by a refresh"
NO_KEY = "it has a generated column that no log has, and no key: published, the server would refuse UPDATE and DELETE"
UNLOGGED = "it is unlogged: its rows are not in the log"
NOT_UTF8 = "its name, or that of a column, type or schema, a default or a label of it has bytes that are no UTF-8"


class Cause(StrEnum):
    """A cause is one that helper_schema.sql and `membership` write.

    LATE: published, and its first rows come by a refresh. UNLOGGED: its rows are not in the log. LOCK: another
    transaction was in the way. IDENTITY: it has no usable replica identity and may get none. GENERATED: it has a
    generated column and no key, so that no publication takes its updates. ENCODING: a name or text of it is no UTF-8.
    ERROR: anything else, see the reason.
    """

    LATE = "late"
    UNLOGGED = "unlogged"
    LOCK = "lock"
    IDENTITY = "identity"
    GENERATED = "generated"
    ENCODING = "encoding"
    ERROR = "error"


CAUSE = f"""
coalesce(pg_catalog.to_jsonb(m) ->> 'cause', CASE
    WHEN pg_catalog.left(m.reason, 15) = 'published late:' THEN '{Cause.LATE}'
    WHEN pg_catalog.right(m.reason, 7) = '(55P03)' THEN '{Cause.LOCK}'
    WHEN m.reason = '{UNLOGGED}' THEN '{Cause.UNLOGGED}'
    WHEN pg_catalog.left(m.reason, 36) = 'it has a generated column and no key' THEN '{Cause.GENERATED}' END)
"""
"""The cause of a row `m` of ddlrepl.member. Earlier versions had no such column: theirs is known by the reason."""


def set_reason(connection: Connection[Any], reason: str | None, cause: Cause | None) -> tuple[str, list[str | None]]:
    """Return assignments of reason and cause for an UPDATE of ddlrepl.member, and their values.

    A helper schema that an earlier version has installed has no column `cause`.
    """
    row = connection.execute(
        "SELECT FROM pg_catalog.pg_attribute WHERE attrelid = 'ddlrepl.member'::regclass AND attname = 'cause'"
    ).fetchone()
    if row is None:
        return "reason = %s", [reason]
    return "reason = %s, cause = %s", [reason, cause.value if cause else None]
