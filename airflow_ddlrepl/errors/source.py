"""These errors are about the source: what it refuses, lacks, or has lost."""

from __future__ import annotations

from typing import Unpack

from airflow_ddlrepl.errors.base import DdlReplError, Place


class SourceError(DdlReplError):
    """The source refuses or lacks something (SRC-…)."""

    is_local = True


class UnreadableTable(SourceError):
    """This error says why one table of the source can't be read; the others can.

    said, sqlstate: the server's text and code, where it is a server that refuses; empty: it is none.
    """

    said = ""
    sqlstate = ""

    def __init__(self, message: str, *, said: str = "", sqlstate: str = "", **place: Unpack[Place]) -> None:
        super().__init__(message, **place)
        self.said, self.sqlstate = said, sqlstate


class UndecodableText(UnreadableTable):
    """This error says that a text of a table is no UTF-8."""


class BlockedByOthers(SourceError):
    """Transactions or locks of others at the source are in the way; a later try may succeed (SRC-110, SRC-171)."""


class SourcePutBack(SourceError):
    """The source lacks log that was captured: it was put back to an older copy, or another one took its place."""


class LogLost(SourcePutBack):
    """Log that was captured was lost in a fail-over or a recovery: every table starts over (SRC-116)."""


class PublicationReplaced(SourceError):
    """The publication was dropped and created again, so it is younger than the slot (SRC-106)."""


class OversizedChange(SourceError):
    """The log has a change that is larger than the server can send (SRC-195). said: the server's text."""

    said = ""

    def __init__(self, message: str, *, said: str = "", **place: Unpack[Place]) -> None:
        super().__init__(message, **place)
        self.said = said
