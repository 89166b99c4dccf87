"""These are the errors that the product raises on purpose; each says what happened, where, and what to do next.

An error has a stable code, survives pickling (Spark ships it between processes) and maps to one
exit code of the command line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from airflow_ddlrepl.visible import continued, one_line, visible


class Exit(IntEnum):
    """An exit code says how the command `ddlrepl` ended; scripts rely on these numbers."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    CONTROL = 3
    UNREACHABLE = 4


class DdlReplError(Exception):
    """This error says what went wrong and what a person can do about it.

    code: stable, e.g. "SRC-101". target/table/at: where it happened, and the log position, when known.
    hint: the next step. retryable: the same call may succeed later without any change. is_local: it concerns one target
    or one stage, and the others of the run go on; else it ends the whole run. missing: what a target lacks: a function
    with the types of its arguments, or a sort and a name; else empty. table_id: of the table, where that is known:
    another one may have its name before and after. client: of Streams, which has failed, in words; empty: none.
    lists_lines: the message has several lines, about a person's file. others: what else has failed in the same run.
    """

    exit_code = Exit.FAILED
    is_local = False
    lists_lines = False
    missing = ""
    table_id: int | None = None
    client = ""
    others: tuple[DdlReplError, ...] = ()

    def __init__(
        self,
        message: str,
        *,
        code: str,
        target: object = None,
        table: object = None,
        at: object = None,
        hint: str = "",
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.target = None if target is None else str(target)
        self.table = None if table is None else str(table)
        self.at = None if at is None else str(at)
        self.hint = hint
        self.retryable = retryable

    def __str__(self) -> str:
        target = self.target if self._lacks_target else None
        known = (("target", target), ("table", self.table), ("at", self.at))
        place = "".join(f" [{label} {value}]" for label, value in known if value)
        hint = f"\n  hint: {continued(self.hint)}" if self.hint else ""
        message = self._message_with_client
        shown = visible(message) if self.lists_lines else continued(message)
        return f"{self.code}: {shown}{one_line(place)}{hint}"

    @property
    def message_with_names(self) -> str:
        """Return the message, with the target and the client before it that it is about and does not name."""
        message = self._message_with_client
        return f"target {self.target}: {message}" if self._lacks_target else message

    @property
    def _message_with_client(self) -> str:
        return f"{self.client}: {self.message}" if self.client and not self._has(self.client) else self.message

    @property
    def _lacks_target(self) -> bool:
        return bool(self.target) and not self._has(f"target {self.target}")

    def _has(self, words: str) -> bool:
        """Return whether the message names something by these words."""
        return re.search(rf"\b{re.escape(words)}(?![\w-])", self.message) is not None

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), dict(self.__dict__)))


def _rebuild(kind: type[DdlReplError], state: dict[str, Any]) -> DdlReplError:
    error = kind.__new__(kind)
    Exception.__init__(error, state["message"])
    error.__dict__.update(state)
    return error


@contextmanager
def identified(ids: Mapping[str, int]) -> Iterator[None]:
    """Add to an error that is raised inside the `with` the id of the table that it names. ids: by name."""
    try:
        yield
    except DdlReplError as error:
        if error.table_id is None and error.table is not None:
            error.table_id = ids.get(error.table)
        raise


class ConfigError(DdlReplError):
    """The channel file or a command-line argument can't be used (CFG-…)."""

    exit_code = Exit.USAGE
    lists_lines = True


class SourceError(DdlReplError):
    """The source refuses or lacks something (SRC-…)."""

    is_local = True


class UnreadableTable(SourceError):
    """This error says why one table of the source can't be read; the others can.

    said, sqlstate: the server's text and code, where it is a server that refuses; empty: it is none.
    """

    said = ""
    sqlstate = ""


class BlockedByOthers(SourceError):
    """Transactions or locks of others at the source are in the way; a later try may succeed (SRC-110, SRC-171)."""


class SourcePutBack(SourceError):
    """The source lacks log that was captured: it was put back to an older copy, or another one took its place."""


class UndecodableText(UnreadableTable):
    """This error says that a text of a table is no UTF-8."""


class TargetError(DdlReplError):
    """The target refuses or lacks something (TGT-…)."""

    is_local = True


class ServerRefusal(DdlReplError):
    """A server refuses a statement for a reason that nobody expected (SQL-…)."""

    is_local = True


class ApplyError(TargetError):
    """A target refuses a logical change record, or its error queue stops the apply client (APL-…).

    number: of the message in its transaction, from 0, where it is known. sqlstate: the server's code for the error;
    empty: it is ours.
    """

    number: int | None = None
    sqlstate: str = ""


class UnreadableRows(TargetError):
    """A row that is to be merged holds text that the type of the target's column does not take (INT-105)."""


class FunctionFailed(TargetError):
    """A function of `transform` gives no values for rows of one table (INT-114)."""


class Unreachable(DdlReplError):
    """A source, target, repository or trail does not answer (CON-…)."""

    exit_code = Exit.UNREACHABLE
    is_local = True
    family = "CON"


class DiskFull(DdlReplError):
    """The disk of the trail, of the repository or of a database server is full (DSK-…)."""

    is_local = True


class LimitReached(DdlReplError):
    """More trail, or more of the source's log, has gathered than the channel file allows (LIM-…)."""


class TrailError(DdlReplError):
    """A trail file is missing, truncated or foreign (TRL-…)."""

    is_local = True


class CannotAdapt(DdlReplError):
    """A schema change is covered by no policy, or the target can't represent it (ADP-…)."""

    is_local = True


class AlterRefused(CannotAdapt):
    """A target's server refuses a statement that alters a table (ADP-130).

    on: the table's id, and where in the log the change is. by_rows: rows of the target's table violate the new shape.
    is_text: the statement was a source's text (`replay_ddl`), or what it made of the table is not as planned.
    sqlstate: the server's code for the error; empty: it is ours.
    """

    on: tuple[int, Any]
    by_rows: bool = False
    is_text: bool = False
    sqlstate: str = ""


class Unsupported(CannotAdapt):
    """A kind of change has no rule for this engine and policy, so the product refuses instead of guessing (ADP-…)."""


class StrangeOwner(Unsupported):
    """What a table would use at its target belongs to a role that the channel does not trust (ADP-192)."""


class ControlStop(DdlReplError):
    """A target waits at a control, a breakpoint that a person has to remove (CTL-…)."""

    exit_code = Exit.CONTROL
    is_local = True


class CannotCutOver(DdlReplError):
    """The channel is cut over already, or can't be: applications do, or may, write where a run writes (CUT-…)."""


class LockHeld(DdlReplError):
    """Another run holds the channel (LCK-…)."""


class Fenced(DdlReplError):
    """This run has lost its channel to another one and may not write any more (LCK-…)."""


class RepositoryError(DdlReplError):
    """The repository can't be used, or would contradict itself (REP-…)."""


class RepositoryPutBack(RepositoryError):
    """Source or targets are further than the repository knows: it was put back to an older copy."""


class RuleError(ConfigError):
    """A rule, a rule set, a condition or a transformation can't be used (RUL-…)."""

    is_local = True


class MessageError(DdlReplError):
    """A message can't be enqueued or dequeued (MSG-…)."""
