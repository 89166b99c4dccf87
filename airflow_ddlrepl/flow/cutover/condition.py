"""A condition of a cut-over says whether applications can switch to a target, and what is missing for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from airflow_ddlrepl.visible import as_lines


class Code(StrEnum):
    """A code names a condition: `ddlrepl cutover --do --accept CODE` goes on although it is not met."""

    POSITION = "CUT-110"
    WRITERS = "CUT-111"
    SUSPENDED = "CUT-112"
    WAITING = "CUT-113"
    ISOLATED = "CUT-114"
    LEFT_OUT = "CUT-115"
    TARGET = "CUT-116"
    CONTROLS = "CUT-117"
    LOADED_WHOLE = "CUT-118"
    IN_FLIGHT = "CUT-119"
    CONSTRAINTS = "CUT-120"
    NOT_IN_FORCE = "CUT-121"
    INDEXES = "CUT-122"
    TRIGGERS = "CUT-123"
    COLUMNS = "CUT-124"
    REFERENCES = "CUT-125"
    OWNERS = "CUT-126"
    SEQUENCES = "CUT-130"
    DIFFERENCES = "CUT-131"
    SEQUENCES_LEFT_OUT = "CUT-132"


ESSENTIAL = frozenset((Code.POSITION, Code.TARGET))
"""Nobody can accept that these are not met: the target would lack rows that the source has."""

DONE_BY_CUT_OVER = frozenset((Code.POSITION, Code.LOADED_WHOLE, Code.IN_FLIGHT, Code.SEQUENCES))
"""A cut-over itself sees to these: its last cycle brings what is in flight, and nothing may be in flight afterwards."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition is one thing that a cut-over needs.

    target: which one it is about; None: the source, or all of the channel. what: the objects that there may not be.
    found: those that there are, one text each; empty: the condition is met. hint: what to do about them.
    """

    code: Code
    target: str | None
    what: str
    found: tuple[str, ...] = ()
    hint: str = ""

    @property
    def is_met(self) -> bool:
        """Is nothing missing?"""
        return not self.found

    def head(self) -> str:
        """Return what the condition is about."""
        return f"target {self.target}: {self.what}" if self.target else self.what

    def to_json(self) -> dict[str, Any]:
        """Return the condition as JSON values."""
        flags = {"is_met": self.is_met, "is_done_by_cut_over": self.code in DONE_BY_CUT_OVER}
        return {**asdict(self), "code": self.code.value, "found": list(self.found), **flags}

    def text(self) -> str:
        """Return the condition as lines for people."""
        if self.is_met:
            return f"ok       {self.head()}: none"
        step = "--do" if self.code in DONE_BY_CUT_OVER else "missing"
        lines = [f"{step:<8} {self.head()} ({self.code})", *(f"           {one}" for one in self.found)]
        return as_lines([*lines, f"         hint: {self.hint}"] if self.hint else lines)


def unmet(conditions: Iterable[Condition], accepted: Iterable[str] = ()) -> list[Condition]:
    """Return the conditions that are not met and that nobody has accepted."""
    known = set(accepted)
    return [one for one in conditions if not one.is_met and one.code not in known]
