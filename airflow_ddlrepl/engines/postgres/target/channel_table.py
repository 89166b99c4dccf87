"""This module defines a table of ours at a target that holds something of the tables of channels.

A target that an older version of this package has prepared may lack it: it is created when it is first written to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.advisory_lock import AdvisoryLock
from airflow_ddlrepl.errors import TargetError

PREPARING = AdvisoryLock("ddlrepl.prepare", "our tables at the target can't be made", TargetError, "TGT-109")
_IS_THERE = """
SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = %s AND NOT attisdropped)
"""


@dataclass(frozen=True, slots=True)
class ChannelTable:
    """A channel table has columns `channel` and `table_id`. name: in our schema. create: the SQL that creates it.

    newest: its youngest column, which a table of an older version lacks; `create` adds it.
    """

    name: str
    create: str
    newest: str

    def is_there(self, connection: Any) -> bool:
        """Does the target have the table, as this version of the package knows it?"""
        row = connection.execute(_IS_THERE, [f"ddlrepl.{self.name}", self.newest]).fetchone()
        return row is not None and bool(row[0])

    def ensure(self, cursor: Any) -> None:
        """Create the table in the open transaction where it is missing."""
        if not self.is_there(cursor.connection):
            PREPARING.take(cursor)
            cursor.execute(self.create.encode())

    def remove_dropped(self, cursor: Any, channel: str) -> None:
        """Remove what is about tables that the channel does not have here any more, in the open transaction."""
        if self.is_there(cursor.connection):
            gone = "t.channel = o.channel AND t.table_id = o.table_id AND t.state <> 'kept'"
            cursor.execute(
                f"DELETE FROM ddlrepl.{self.name} o WHERE o.channel = %s"
                f" AND NOT EXISTS (SELECT FROM ddlrepl.tables t WHERE {gone})".encode(),
                [channel],
            )

    def forget_all(self, connection: Any, channel: str) -> None:
        """Remove what is there of the channel."""
        if self.is_there(connection):
            connection.execute(f"DELETE FROM ddlrepl.{self.name} WHERE channel = %s".encode(), [channel])
