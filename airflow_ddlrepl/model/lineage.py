"""A lineage lists the timelines that a server's log went through, and where each of them ended.

A mark is a number and a random token that each capture leaves at source, repository, trail and targets: a copy of one
of them that is put back has an older mark than the others, whatever was written to it since.

A promoted standby, and a server that was set back by a point-in-time recovery, go on with a log of their own: a new
timeline, which shares with the one before what lies before the point where it branched off, and nothing after it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from airflow_ddlrepl.model.position import Position

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


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark is what one capture leaves: its number, which grows by one, and a token that nobody can guess."""

    number: int
    token: str

    @classmethod
    def after(cls, last: int) -> Mark:
        """Return a new mark that follows the one of this number."""
        return cls(last + 1, secrets.token_hex(16))

    @classmethod
    def parse(cls, text: str) -> Mark:
        """Return the mark that `to_text` wrote."""
        number, _, token = text.partition(" ")
        return cls(int(number), token)

    def to_text(self) -> str:
        """Return number and token as one text."""
        return f"{self.number} {self.token}"

    def __str__(self) -> str:
        return f"mark {self.number}"


@dataclass(frozen=True, slots=True)
class SourceMark:
    """A source mark is the mark that a source has. after: the token of the repository's mark before it."""

    mark: Mark
    after: str
