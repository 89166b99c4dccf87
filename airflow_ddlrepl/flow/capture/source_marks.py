"""Each capture leaves a mark at the source; a copy of source or repository that was put back is found out by it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airflow_ddlrepl.errors import DdlReplError, RepositoryPutBack, SourcePutBack
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.model.marks import Mark
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.trail.manifest import Segment


class MarkState(StrEnum):
    """A mark state says how the source's mark relates to the marks that the repository knows."""

    FIRST = "neither has a mark"
    SAME = "both have the same mark"
    NEXT = "the source has the next mark, of a run that was killed"
    CANNOT = "the source can't have marks"
    MISSING = "the source has lost its mark"
    OLDER = "the source has an older mark"
    FOREIGN = "the source has a mark that the repository does not know"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal is the error of a mark state. what: happened. kind, code: of the error. hint: what to do."""

    kind: type[DdlReplError]
    code: str
    what: str
    hint: str


LOADS_AGAIN = "loads every table again as the source has it now"
REFUSALS = {
    MarkState.OLDER: Refusal(
        SourcePutBack,
        "SRC-130",
        "the source was put back to an older copy, or another copy of it has replaced it: its mark is older than what"
        " was captured, which it has lost since",
        "if the location leads to a wrong server, correct it. Else `ddlrepl activate --accept source`"
        f" {LOADS_AGAIN}: what only the targets have is lost there, too",
    ),
    MarkState.MISSING: Refusal(
        SourcePutBack,
        "SRC-131",
        "the source has no mark of the channel, and captures have left one: it was put back to a copy from before the"
        " first of them, or somebody has removed the mark",
        f"if the location leads to a wrong server, correct it. Else `ddlrepl activate --accept source` {LOADS_AGAIN}",
    ),
    MarkState.FOREIGN: Refusal(
        RepositoryPutBack,
        "REP-110",
        "the source was captured further than this repository knows: the repository was put back to an older copy, or"
        " the channel runs from another repository, too",
        "restore the repository's newest copy, or use the other repository. Else `ddlrepl activate --accept repository`"
        f" {LOADS_AGAIN}",
    ),
}
"""What is not in this table goes on."""


def mark_state(run: RunContext) -> MarkState:
    """Return how the source's mark relates to those of the repository."""
    name, marks = run.channel.name, run.source.marks
    newest, found = run.repository.newest_mark(name), marks.read()
    if newest is None:
        is_next = found is not None and found.mark.number == 1 and not found.after
        return MarkState.FIRST if found is None else MarkState.NEXT if is_next else MarkState.FOREIGN
    if found is None:
        return MarkState.MISSING if marks.can_have() else MarkState.CANNOT
    if found.mark == newest:
        return MarkState.SAME
    if (found.mark.number, found.after) == (newest.number + 1, newest.token):
        return MarkState.NEXT
    return MarkState.OLDER if run.repository.has_mark(name, found.mark) else MarkState.FOREIGN


def require_mark(run: RunContext, *, went_over: bool) -> None:
    """Raise SourcePutBack SRC-130, SRC-131 or RepositoryPutBack REP-110 where source or repository was put back.

    went_over: the source's log went over to another one and has all that was captured. Such a standby may lack the
    last mark, which is younger than that: it is written there again.
    """
    found = mark_state(run)
    if found is MarkState.OLDER and went_over and _lacks_last_only(run):
        write_again(run)
        return
    if found is MarkState.CANNOT:
        log.warning("the source can't tell whether it was put back to an older copy, until `ddlrepl activate`")
    if (refusal := REFUSALS.get(found)) is not None:
        at = run.repository.captured(run.channel.name)
        raise refusal.kind(refusal.what, code=refusal.code, at=at, hint=refusal.hint)


def _lacks_last_only(run: RunContext) -> bool:
    newest, found = run.repository.newest_mark(run.channel.name), run.source.marks.read()
    return newest is not None and found is not None and found.mark.number == newest.number - 1


def write_again(run: RunContext) -> None:
    """Write the repository's newest mark to the source again; only the channel's holder does."""
    newest = run.repository.newest_mark(run.channel.name)
    if newest is not None and run.token:
        run.check_lock()
        run.source.marks.write(newest, "")


def leave_mark(run: RunContext) -> Position:
    """Leave a new mark at the source; return the position up to which the log is captured next.

    It lies after every transaction that was committed before the call. Whoever has the mark has the log before it.
    """
    newest = run.repository.newest_mark(run.channel.name)
    mark = Mark.after(newest.number if newest else 0)
    run.check_lock()
    end = run.source.marks.write(mark, newest.token if newest else "")
    if end is None:
        return run.source.stable_end()
    reach("capture.marked")
    run.repository.set_mark(run.channel.name, run.token, mark, end)
    return end


def begin_marks(run: RunContext) -> None:
    """Leave a mark that source and repository share from now on, whatever marks they had: a person has decided."""
    newest, found = run.repository.newest_mark(run.channel.name), run.source.marks.read()
    numbers = [newest.number if newest else 0, found.mark.number if found else 0]
    mark = Mark.after(max(numbers))
    run.check_lock()
    end = run.source.marks.write(mark, newest.token if newest else "")
    if end is not None:
        run.repository.set_mark(run.channel.name, run.token, mark, end)


def newest_token(run: RunContext) -> str:
    """Return the token of the newest mark, for the manifest of a segment; empty: there is none."""
    newest = run.repository.newest_mark(run.channel.name)
    return newest.token if newest else ""


def require_own_leftovers(run: RunContext) -> None:
    """Raise RepositoryPutBack REP-112 where the trail goes on with a segment that this repository knows nothing of."""
    captured = run.repository.captured(run.channel.name)
    segment = run.trail.find(run.epoch, captured) if captured is not None else None
    if segment is not None:
        require_own(run, segment)


def require_own(run: RunContext, segment: Segment) -> None:
    """Raise RepositoryPutBack REP-112 for a segment that captures wrote of which this repository knows nothing."""
    if segment.mark and not run.repository.has_written(run.channel.name, segment.mark):
        raise RepositoryPutBack(
            f"the trail has a segment from {segment.low} on that this repository knows nothing of: the repository was"
            " put back to an older copy, or another trail has taken this one's place",
            code="REP-112",
            at=segment.low,
            hint="restore the copies of repository and trail that belong together. Else `ddlrepl activate --accept"
            f" repository` {LOADS_AGAIN}",
        )
