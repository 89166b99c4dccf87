"""This module defines the policies for schema changes that a channel chooses from, with HVR's names for their values.

Values are accepted in any case (`refresh`, `REFRESH`); they print as HVR writes them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

Enrollment = Literal["keep", "regenerate", "only"]
TrailChoice = Literal["keep", "new"]
Accepted = Literal["nothing", "source", "repository", "server"]
"""What a person accepts: source or repository was put back to an older copy; or the server was upgraded."""


class _AnyCase(StrEnum):
    @classmethod
    def _missing_(cls, value: object) -> _AnyCase | None:
        return next((m for m in cls if isinstance(value, str) and m.value == value.strip().upper()), None)


class OnError(StrEnum):
    """This policy decides what happens when a target refuses a change of one table: rows, or an ALTER.

    suspend_table: the table stops there, the others go on. stop: the whole target stops, at one position.
    """

    SUSPEND_TABLE = "suspend_table"
    STOP = "stop"


class History(StrEnum):
    """This policy decides what a target has of the source's tables.

    mirror: their rows. changelog: a row for each change of them (`time_key`). both: the rows, and a second table of
    each with its changes, which is seen in the same moment.
    """

    MIRROR = "mirror"
    CHANGELOG = "changelog"
    BOTH = "both"


class OnEnrollBreak(_AnyCase):
    """This policy decides what happens to an existing table when a change breaks its enroll information.

    A change of a column's type is such a change.
    """

    REFRESH = "REFRESH"
    FAIL_INTEG_JOB = "FAIL_INTEG_JOB"
    WARNING = "WARNING"


class OnAddColumnWithDefault(_AnyCase):
    """This policy decides which values existing rows of the target get in a new column with a default.

    FILL is our own: they show what the source shows (by the ALTER itself, by key, or by a refresh).
    The other four are HVR's.
    """

    FILL = "FILL"
    ADD_COLUMN_WITH_EMPTY_DEFAULT = "ADD_COLUMN_WITH_EMPTY_DEFAULT"
    REFRESH = "REFRESH"
    FAIL_INTEG_JOB = "FAIL_INTEG_JOB"
    WARNING = "WARNING"


class OnPreserveAlterTableFail(_AnyCase):
    """This policy decides what happens when the target refuses the ALTER of an existing table.

    REFRESH is our own: the rows that conflict are loaded again. The others are HVR's.
    """

    REFRESH = "REFRESH"
    CREATE_AS_SELECT = "CREATE_AS_SELECT"
    FAIL_INTEG_JOB = "FAIL_INTEG_JOB"
    WARNING = "WARNING"


class OnDropTable(_AnyCase):
    """This policy decides what a DROP TABLE at the source does to the channel and to the target's table."""

    KEEP = "KEEP"
    DROP_FROM_CHANNEL_ONLY = "DROP_FROM_CHANNEL_ONLY"
    DROP_FROM_CHANNEL_AND_TARGET = "DROP_FROM_CHANNEL_AND_TARGET"


class AskBefore(_AnyCase):
    """This is a schema change before which a target waits for a person, as the channel's `ask_before` lists it.

    DROP_COLUMN: of a column, or an attribute of a type, that the target has. NARROW: a column's new type may round, cut
    or refuse values. DROP_TABLE: at the source, whatever becomes of the target's table.
    """

    DROP_COLUMN = "DROP_COLUMN"
    NARROW = "NARROW"
    DROP_TABLE = "DROP_TABLE"


class Defaults(StrEnum):
    """This setting says whose defaults apply where no action decides: ours (the target equals the source) or HVR's."""

    OWN = "own"
    HVR = "hvr"


class ExistingTables(StrEnum):
    """This setting decides what activation does when a target already has a table of a mapped name, with rows in it."""

    REFUSE = "refuse"
    REPLACE = "replace"


class NewTargets(StrEnum):
    """This setting decides what happens to a target that is added to the file of a channel that is active already.

    LOAD: the next cycle prepares it and loads its tables. WAIT: it waits for `ddlrepl activate` or the enroll DAG.
    """

    LOAD = "load"
    WAIT = "wait"


class ReplicaIdentity(StrEnum):
    """This setting decides what happens to a source table without a usable key, which UPDATE and DELETE need.

    Without one they don't identify a row. FULL: it gets REPLICA IDENTITY FULL, and so does one whose old rows
    `restrict` or `transform` reads. LEAVE: it stays out of the publication and is reported.
    """

    FULL = "full"
    LEAVE = "leave"


class DdlCapture(StrEnum):
    """This setting says how schema changes are detected: by event triggers, or by comparing Relation messages.

    AUTO takes the best that is available.
    """

    AUTO = "auto"
    TRIGGERS = "triggers"
    RELATIONS = "relations"


class CaptureFormat(StrEnum):
    """Values in pgoutput are binary or text; AUTO takes binary where every type allows it."""

    AUTO = "auto"
    BINARY = "binary"
    TEXT = "text"
