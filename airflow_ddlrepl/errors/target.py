"""These errors are about a target: rows or schema changes that it does not take, statements that it refuses."""

from __future__ import annotations

from typing import Any, Unpack

from airflow_ddlrepl.errors.base import DdlReplError, Place


class TargetError(DdlReplError):
    """The target refuses or lacks something (TGT-…)."""

    is_local = True


class ChunkRefused(TargetError):
    """The target refuses rows that a refresh loads; the table waits, and the others are loaded (TGT-120)."""


class TablesSuspended(TargetError):
    """Tables of the target are suspended; the others have gone on (INT-123)."""


class RowsRefused(TargetError):
    """Rows of one table can't be merged at the target (INT-…)."""

    suspends_table = True


class KeyTaken(RowsRefused):
    """A row of the target has the key, or the place, that a row to be merged is to have (INT-102)."""


class ForeignKeyBroken(RowsRefused):
    """A foreign key of the target does not allow a change of rows (INT-104)."""


class UnreadableRows(RowsRefused):
    """A row that is to be merged holds text that the type of the target's column does not take (INT-105)."""


class FunctionFailed(RowsRefused):
    """A function of `transform` gives no values for rows of one table (INT-114)."""


class SessionEnded(RowsRefused):
    """The session that writes one table ends whenever it does, while the server answers others (INT-131)."""


class WrittenMeanwhile(TargetError):
    """Somebody else has written to a table after a run has read it; the run has written nothing (TGT-112)."""


class TableReplaced(TargetError):
    """Somebody has dropped a table, removed its files, made it again, or taken it back (TGT-113 to TGT-115)."""

    suspends_table = True


class ServerRefusal(DdlReplError):
    """A server refuses a statement for a reason that nobody expected (SQL-…)."""

    is_local = True
    suspends_table = True

    def __init__(self, message: str, *, missing: str = "", **place: Unpack[Place]) -> None:
        super().__init__(message, **place)
        self.missing = missing


class ApplyError(TargetError):
    """A target refuses a logical change record, or its error queue stops the apply client (APL-…).

    number: of the message in its transaction, from 0, where it is known. sqlstate: the server's code for the error;
    empty: it is ours.
    """

    disables_client = True
    number: int | None = None
    sqlstate: str = ""

    def __init__(self, message: str, *, number: int | None = None, sqlstate: str = "", **place: Unpack[Place]) -> None:
        super().__init__(message, **place)
        self.number, self.sqlstate = number, sqlstate

    def about_message(self, number: int | None) -> ApplyError:
        """Fill in which message of the transaction the error is about, where that is not known yet."""
        self.number = number if self.number is None else self.number
        return self


class NotInErrorQueue(ApplyError):
    """The error queue has no such transaction, or it is not clear which one is meant (APL-112)."""


class CannotAdapt(DdlReplError):
    """A schema change is covered by no policy, or the target can't represent it (ADP-…)."""

    is_local = True
    suspends_table = True


class AlterRefused(CannotAdapt):
    """A target's server refuses a statement that alters a table (ADP-130).

    on: the table's id, and where in the log the change is. by_rows: rows of the target's table violate the new shape.
    is_text: the statement was a source's text (`replay_ddl`), or what it made of the table is not as planned.
    sqlstate: the server's code for the error; empty: it is ours. missing: what the server lacks for it.
    """

    on: tuple[int, Any]
    by_rows: bool = False
    is_text: bool = False
    sqlstate: str = ""

    def __init__(
        self,
        message: str,
        *,
        on: tuple[int, Any] | None = None,
        by_rows: bool = False,
        is_text: bool = False,
        sqlstate: str = "",
        missing: str = "",
        **place: Unpack[Place],
    ) -> None:
        """Make the error. on: `about_change` fills it in where the one who raises it does not know it."""
        super().__init__(message, **place)
        self.by_rows, self.is_text, self.sqlstate, self.missing = by_rows, is_text, sqlstate, missing
        if on is not None:
            self.on = on

    def about_change(self, table_id: int, key: object) -> AlterRefused:
        """Say which table's change at which place of the log the server has refused; return the error."""
        self.on = (table_id, key)
        return self


class Unsupported(CannotAdapt):
    """A kind of change has no rule for this engine and policy, so the product refuses instead of guessing (ADP-…)."""


class StrangeOwner(Unsupported):
    """What a table would use at its target belongs to a role that the channel does not trust (ADP-192)."""


class NameOutside(CannotAdapt):
    """A suspended table had a name or a type that another table has now: it has to be loaded (ADP-158)."""


class NeighbourSuspended(CannotAdapt):
    """A suspended table needs the name or a type of another one that is suspended, too (ADP-170)."""


class CannotRewind(CannotAdapt):
    """A rewind can't bring a table back, or its result can't be put where it is wanted (REW-…)."""

    suspends_table = False
