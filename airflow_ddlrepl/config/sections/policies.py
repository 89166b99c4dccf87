"""The choices a channel makes for schema changes, with HVR's names for their values.

Values are accepted in any case (`refresh`, `REFRESH`); they print as HVR writes them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

Enrollment = Literal["keep", "regenerate", "only"]
TrailChoice = Literal["keep", "new"]


class _AnyCase(StrEnum):
    @classmethod
    def _missing_(cls, value: object) -> _AnyCase | None:
        return next((m for m in cls if isinstance(value, str) and m.value == value.strip().upper()), None)


class OnEnrollBreak(_AnyCase):
    """What happens to an existing table when a change breaks its enroll information (type changes, …)."""

    REFRESH = "REFRESH"
    FAIL_INTEG_JOB = "FAIL_INTEG_JOB"
    WARNING = "WARNING"


class OnAddColumnWithDefault(_AnyCase):
    """What old target rows show in a new column that has a default.

    FILL is our own: they show what the source shows (by the ALTER itself, by key, or by a refresh).
    The other four are HVR's.
    """

    FILL = "FILL"
    ADD_COLUMN_WITH_EMPTY_DEFAULT = "ADD_COLUMN_WITH_EMPTY_DEFAULT"
    REFRESH = "REFRESH"
    FAIL_INTEG_JOB = "FAIL_INTEG_JOB"
    WARNING = "WARNING"


class OnPreserveAlterTableFail(_AnyCase):
    """What happens when the target refuses the ALTER of an existing table.

    REFRESH is our own: rows that stand against it are brought anew. The others are HVR's.
    """

    REFRESH = "REFRESH"
    CREATE_AS_SELECT = "CREATE_AS_SELECT"
    FAIL_INTEG_JOB = "FAIL_INTEG_JOB"
    WARNING = "WARNING"


class OnDropTable(_AnyCase):
    """What a DROP TABLE at the source does to the channel and to the target's table."""

    KEEP = "KEEP"
    DROP_FROM_CHANNEL_ONLY = "DROP_FROM_CHANNEL_ONLY"
    DROP_FROM_CHANNEL_AND_TARGET = "DROP_FROM_CHANNEL_AND_TARGET"


class Defaults(StrEnum):
    """Whose defaults hold where an action says nothing: ours (target equals source) or HVR's."""

    OWN = "own"
    HVR = "hvr"


class ExistingTables(StrEnum):
    """What activation does when a target table of that name is there already and holds rows."""

    REFUSE = "refuse"
    REPLACE = "replace"


class NewTargets(StrEnum):
    """What happens to a target that is added to the file of a channel that is active already.

    LOAD: the next cycle prepares it and loads its tables. WAIT: it waits for `ddlrepl activate` or the enroll DAG.
    """

    LOAD = "load"
    WAIT = "wait"


class ReplicaIdentity(StrEnum):
    """What happens to a source table whose UPDATE and DELETE can't be told apart by a key.

    FULL: it gets REPLICA IDENTITY FULL, and so does one whose old rows `restrict` or `transform` look at. LEAVE: it
    stays out of the publication and is reported.
    """

    FULL = "full"
    LEAVE = "leave"


class DdlCapture(StrEnum):
    """How schema changes are seen: event triggers, by comparing Relation messages, or the best available."""

    AUTO = "auto"
    TRIGGERS = "triggers"
    RELATIONS = "relations"


class CaptureFormat(StrEnum):
    """Format of pgoutput's values; AUTO takes binary where every type allows it."""

    AUTO = "auto"
    BINARY = "binary"
    TEXT = "text"
