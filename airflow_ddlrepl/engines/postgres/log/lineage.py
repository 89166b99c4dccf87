"""Which log a PostgreSQL server writes is its lineage: the timelines that it went through, and where each ended.

A promoted standby, and a server that was set back by a point-in-time recovery, go on with a log of their own: a new
timeline, which shares with the one before what lies before the point where it branched off, and nothing after it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from airflow_ddlrepl.engines.postgres.log.replication_protocol import timeline_history
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.log_identity import Continuity, LogIdentity

log = logging.getLogger("ddlrepl")

UNKNOWN = "?"
NEVER = Position(1 << 64)
_FIRST_OF_A_SEGMENT = 40  # bytes of the header that each file of the log begins with
_SEGMENT_AT_LEAST = 1 << 20


@dataclass(frozen=True, slots=True)
class Lineage:
    """A lineage is the history of timelines of one server's log; it prints as `1@0/3000148 2`, or as `? 2`.

    timeline: the one that is written now. ended: those before it, the first one first, each with its end; None where
    the server does not report them.
    """

    timeline: int
    ended: tuple[tuple[int, Position], ...] | None = ()

    @classmethod
    def parse(cls, text: str) -> Lineage:
        """Return the lineage that prints as this text."""
        *before, timeline = text.split()
        if before == [UNKNOWN]:
            return cls(int(timeline), None)
        pairs = (one.split("@") for one in before)
        return cls(int(timeline), tuple((int(number), Position.parse(end)) for number, end in pairs))

    @classmethod
    def of_history(cls, timeline: int, history: str) -> Lineage:
        """Return a timeline's lineage from its history file: one line of number, end and reason per timeline."""
        lines = (line.split() for line in history.splitlines() if line.strip() and not line.startswith("#"))
        return cls(timeline, tuple((int(number), Position.parse(end)) for number, end, *_ in lines))

    @property
    def is_known(self) -> bool:
        """Return whether the server reports where the earlier timelines ended."""
        return self.ended is not None

    def __str__(self) -> str:
        before = [UNKNOWN] if self.ended is None else [f"{number}@{end}" for number, end in self.ended]
        return " ".join([*before, str(self.timeline)])

    def contains_log(self, before: Lineage, at: Position) -> bool:
        """Return whether the log before `at`, as it was read in the lineage `before`, is also part of this lineage."""
        if self.ended is None or before.ended is None:
            return self.timeline == before.timeline
        ours, theirs = (*self.ended, (self.timeline, NEVER)), (*before.ended, (before.timeline, NEVER))
        for place, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
            if mine != other:
                shared = ours[:place][-1:] if mine[0] != other[0] else ()
                ends = [end for _, end in (*shared, *ours[place:], *theirs[place:])]
                return (bool(shared) or mine[0] == other[0]) and _lies_before(at, min(ends))
        return True


def _lies_before(at: Position, end: Position) -> bool:
    """Return whether a position lies before the end of a timeline, or so near behind it that no log lies between.

    Between the end of a file of the log and the first record of the next file there is a header. (The server names the
    one as the end of what it has, the other as the place where it will write next.)
    """
    return at <= end or (end % _SEGMENT_AT_LEAST == 0 and at <= end + _FIRST_OF_A_SEGMENT)


def timeline_of(identity: str) -> int:
    """Return the timeline of a lineage's text; 0 for an empty one, which is any."""
    return Lineage.parse(identity).timeline if identity else 0


@dataclass(frozen=True, slots=True)
class PostgresLogIdentity(LogIdentity):
    """The log of a PostgreSQL server is identified by its lineage, as a text."""

    dsn: str = field(repr=False)

    def of_run(self, server_run: str) -> str:
        """Return the lineage of the log that this run of the server writes; unknown where it can't say."""
        timeline = int(server_run.partition("/")[0])
        if timeline == 1:
            return str(Lineage(1))
        try:
            return str(Lineage.of_history(timeline, timeline_history(self.dsn, timeline)))
        except (DdlReplError, ValueError) as error:
            reason = error.message if isinstance(error, DdlReplError) else str(error)
            log.warning("the source does not tell where its timeline %d branched off: %s", timeline, reason)
            return str(Lineage(timeline, None))

    def continuity(self, before: str, now: str, at: Position) -> Continuity:
        """Return how the log of now follows the one of before, up to a position."""
        old, new = Lineage.parse(before), Lineage.parse(now)
        went_over = new.timeline != old.timeline
        return Continuity(
            now if new.is_known or went_over else before,
            new.contains_log(old, at),
            went_over,
            f"it was on timeline {old.timeline}, and the source's log went over to timeline {new.timeline}"
            f" (timelines and their ends: {new})",
        )
