"""A fail-over of the source may lose log that was captured; these checks ask whether its present log continues it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from airflow_ddlrepl.errors import LogLost, SourcePutBack
from airflow_ddlrepl.flow.capture.source_marks import require_mark
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.ports.log_identity import Continuity
from airflow_ddlrepl.trail.manifest import Segment

ENDED_EARLIER = "the log ended before"


def follow(run: RunContext) -> None:
    """Check that the run can go on with this server's log: nothing of what was captured is missing from it.

    Costs two queries while the server runs on. Raises RepositoryError REP-107 for another database, LogLost SRC-116
    when log that was captured was lost in a fail-over or a point-in-time recovery, SRC-113 for a standby; and what
    `require_mark` raises when source or repository was put back to an older copy.
    """
    run.claim_source()
    row, server = run.repository.channel(run.channel.name), run.source.server_run()
    if row is not None and row.server == server:
        if run.repository.captured(run.channel.name) is not None:
            require_mark(run, went_over=False)
        run.log_identity = row.log_identity
        return
    identity = run.source.log_identity
    now, before = identity.of_run(server), row.log_identity if row else ""
    captured = run.repository.captured(run.channel.name)
    if before and captured is not None:
        found = identity.continuity(before, now, captured)
        _require_whole(found, captured)
        require_mark(run, went_over=found.went_over)
        if found.went_over:
            log.info("the source's log goes on after a fail-over: %s; nothing that was captured is lost", found.words)
        now = found.identity
    if run.token:
        run.repository.set_log_identity(run.channel.name, run.token, server, now)
    run.log_identity = now


def require_source(run: RunContext, low: Position) -> None:
    """Raise what `Source.require_readable` raises unless the log from a position on can be read without loss."""
    require_source_log(run)
    row = run.repository.channel(run.channel.name)
    run.source.require_readable(low, row.feed_id if row else None)


def require_source_log(run: RunContext) -> None:
    """Raise SourcePutBack SRC-115 where the source's log ends before what was captured, or once did.

    The log grows past that. So it is stored for a source without marks, and stands until a person accepts it.
    """
    name, captured = run.channel.name, run.repository.captured(run.channel.name)
    if captured is None:
        return
    once = run.repository.position(name, ENDED_EARLIER)
    if once is not None and run.source.marks.read() is None:
        raise SourcePutBack(
            f"the source's log has once ended before {once}, up to which it was captured: the server was restored to an"
            " earlier state, or another server has replaced it",
            code="SRC-115",
            at=once,
            hint="`ddlrepl activate --accept source` loads every table again as the source has it now",
        )
    try:
        run.source.require_log(captured)
    except SourcePutBack:
        if run.token:
            run.repository.set_position(name, run.token, ENDED_EARLIER, captured)
        raise


def is_followed(run: RunContext) -> bool:
    """Is the source still the server that the channel's last run has found, not restarted since?"""
    row = run.repository.channel(run.channel.name)
    return row is not None and row.server == run.source.server_run()


def require_retained(run: RunContext, segment: Segment) -> None:
    """Raise LogLost SRC-116 when the segment holds log that the source does not have any more."""
    if run.log_identity and segment.log_identity:
        at = segment.high
        _require_whole(run.source.log_identity.continuity(segment.log_identity, run.log_identity, at), at)


def is_lost(run: RunContext) -> bool:
    """Is log missing from the source that was captured, or that a run which was killed has left in the trail?

    Also when an administrator has set up again what the source publishes: what was changed in between is in no log.
    """
    return is_log_lost(run) or _is_lost(lambda: _require_leftovers(run))


def is_log_lost(run: RunContext) -> bool:
    """Is log missing from the source that was captured? The trail is not looked at."""
    row = run.repository.channel(run.channel.name)
    if row and row.feed_id and row.feed_id != run.source.membership.feed_id():
        log.warning("what the source publishes was set up again: every table starts over")
        return True
    return _is_lost(lambda: follow(run))


def _is_lost(look: Callable[[], None]) -> bool:
    try:
        look()
    except LogLost as error:
        log.warning("%s: every table starts over", error.message)
        return True
    return False


def _require_leftovers(run: RunContext) -> None:
    """Raise LogLost SRC-116 where a run that was killed has left log in the trail that the source lost since."""
    low = run.repository.captured(run.channel.name)
    while low is not None and (segment := run.trail.find(run.epoch, low)):
        require_retained(run, segment)
        low = segment.high


def start_over(run: RunContext, found: Sequence[Revision], position: Position) -> None:
    """Go on at a position of the log that the source writes now, in a new epoch."""
    server = run.source.server_run()
    run.log_identity = run.source.log_identity.of_run(server)
    run.repository.start_over(run.channel.name, run.token, found, position, server, run.log_identity)


def _require_whole(found: Continuity, at: Position) -> None:
    """Raise LogLost SRC-116 where the log of now lacks some of what was captured up to a position."""
    if found.is_whole:
        return
    raise LogLost(
        f"log that was captured up to {at} was lost in a fail-over or a recovery: {found.words}",
        code="SRC-116",
        at=at,
        hint="run `ddlrepl activate`, which loads every table again. If the location still leads to a wrong"
        " server, correct it first",
    )
