"""This module is the port of what has a source's log name the sessions whose changes are ignored."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from airflow_ddlrepl.model.installation import SessionNames
from airflow_ddlrepl.model.names import TableName


class NamedSessions(Protocol):
    """Sessions are named by something that each table of the channel has at the source: a trigger, say."""

    def session_names(self) -> SessionNames | None:
        """Return what has the log name the sessions whose changes are ignored; None: the file asks for nothing."""
        return None

    def without_session_names(self, again: Collection[int] = ()) -> list[TableName]:
        """Return tables whose changes lack the name or role of an ignored session, though the file asks for it.

        again: ids of tables for which what names them is made again first.
        """
        return []
