"""Target readiness asks: is a target prepared for the channel, new to it, or in need of a person?

A cycle prepares a target that was added to the channel file since the activation, and goes on with the others where it
can't: what is wrong with one target is raised at the end of the run, by its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from airflow_ddlrepl.config.sections.places import Target
from airflow_ddlrepl.config.sections.policies import ExistingTables, NewTargets
from airflow_ddlrepl.engines.target_state import forgotten
from airflow_ddlrepl.errors import DdlReplError, TargetError
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import require_target_not_cut_over
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.targets import about_target
from airflow_ddlrepl.flow.targets.applied_marks import ahead, is_ahead, settle_put_back
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table


class Readiness(Enum):
    """A readiness says whether a target can go on with the channel.

    READY: it goes on from its position. NEW: the channel has never been there. OUTDATED: it was taken out of the file
    for so long that the trail no longer has what it lacks. FORGOTTEN: it was prepared and knows nothing of it any more.
    FOREIGN: a channel of this name is there that our repository does not know. AHEAD: an activation by which every
    target starts over was ended before the repository knew of it. FURTHER: it has applied log that our
    repository, an older copy, knows nothing of.
    """

    READY = "ready"
    NEW = "new"
    OUTDATED = "outdated"
    FORGOTTEN = "forgotten"
    FOREIGN = "foreign"
    AHEAD = "ahead"
    FURTHER = "further"


def readiness(run: RunContext, target: str) -> Readiness:
    """Return the target's readiness, changing nothing. Raises Unreachable when it does not answer."""
    name, is_known = run.channel.name, run.repository.knows_target(run.channel.name, target)
    place = run.target(target)
    found = place.position()
    if found is None:
        was_replay = is_known and place.position(f"{name}@{target}") is not None
        return Readiness.FORGOTTEN if is_known and not was_replay else Readiness.NEW
    if not is_known and place.has_loaded():
        return Readiness.FOREIGN
    if run.repository.captured(name) is None:
        return Readiness.READY
    if is_ahead(run, target):
        return Readiness.FURTHER
    if found.epoch > run.epoch:
        return Readiness.AHEAD
    if found.epoch < run.epoch or found.lsn < run.repository.retained_from(name):
        return Readiness.OUTDATED
    return Readiness.READY


def is_ready(run: RunContext, target: str) -> bool:
    """Does the target go on from its position? Asked once in a run."""
    if target not in run.targets.ready and readiness(run, target) is Readiness.READY:
        run.targets.ready.add(target)
    return target in run.targets.ready


def ready_targets(run: RunContext) -> Iterator[Target]:
    """Yield the targets that answer and are prepared; changes nothing."""
    for target in run.targets.answering():
        if is_ready(run, target.name):
            yield target


def has_new_target(run: RunContext) -> bool:
    """Is there a target that a cycle has to prepare, or to report an error for?"""
    return any(not is_ready(run, target.name) and not _waits(run, target.name) for target in run.targets.answering())


def prepared_targets(run: RunContext, until: Position | None = None) -> Iterator[Target]:
    """Yield the targets that a stage works at; one that is new is prepared first, so that the next refresh loads it.

    until: the cycle ends there; a new target waits for one that goes to the end, for its load would show what is later.
    """
    run.captured()
    for target in run.targets.answering():
        if is_ready(run, target.name):
            settle_put_back(run, target.name)
            yield target
        elif _becomes_ready(run, target, until):
            yield target


def what_is_missing(run: RunContext, target: str) -> str:
    """Return why a target is not ready, for `status`, `plan` and `doctor`; empty when it is."""
    found = readiness(run, target)
    if found is Readiness.READY:
        return ""
    if (error := _refusal(run, target, found)) is not None:
        return f"{error.message}: {error.hint}"
    why = "it is new" if found is not Readiness.OUTDATED else "the trail no longer has the log that it needs"
    if _waits(run, target):
        return f"{why} and waits for `ddlrepl activate` (new_targets: wait)"
    return f"{why}: the next cycle prepares it and loads its tables"


def foreign(run: RunContext, target: str) -> TargetError:
    """Return the error for a target that holds a channel of our name that the repository does not know by this name."""
    channel, found = run.channel.name, run.target(target).position()
    if found is not None and found.mark is not None and run.repository.has_mark(channel, found.mark):
        return TargetError(
            f"target {target} already has channel {channel} of this repository: the target has another name in the"
            " channel file than before, or its location leads to another target's database",
            code="TGT-103",
            hint="give it its former name again: its name is its identity; or set `existing_tables: replace` for it:"
            " its tables are loaded again",
        )
    return TargetError(
        f"target {target} already holds a channel called {channel}, of another repository",
        code="TGT-103",
        hint="call this channel something else; or, if that repository is lost, set `existing_tables: replace` for the"
        " target: its tables are loaded again",
    )


def _becomes_ready(run: RunContext, target: Target, until: Position | None) -> bool:
    found, name = readiness(run, target.name), target.name
    if (refusal := _refusal(run, name, found)) is not None:
        return _failed(run, name, refusal)
    if until is not None or _waits(run, name):
        why = f"it would show what is later than {until}" if until is not None else "`ddlrepl activate` loads it"
        run.targets.new[name] = f"not prepared yet: {why}"
        log.warning("target %s is %s, and gets no rows: %s", name, found.value, why)
        return False
    isolation = FailureIsolation()
    with isolation.one(name):
        run.targets.new[name] = _prepared(run, name, found)
    for error in isolation.errors:
        return _failed(run, name, error)
    run.targets.ready.add(name)
    return True


def _prepared(run: RunContext, target: str, found: Readiness) -> str:
    """Prepare the target from the captured position on; return a text for people that says what was done."""
    from airflow_ddlrepl.flow.targets.preparation import Beginning, prepare_target, require_preparable

    tables, position = _tables(run), run.captured()
    require_preparable(run, target, tables)
    if found is Readiness.FOREIGN:
        require_target_not_cut_over(run, target)
        run.target(target).take_over(position, run.fence)
    starts_over = found is not Readiness.NEW
    count = prepare_target(run, target, Beginning(position, tables, run.epoch, starts_over=starts_over))
    log.info("target %s is %s: it begins at %s, %d tables wait for their rows", target, found.value, position, count)
    return f"prepared at {position}: {count} tables wait for their rows"


def _tables(run: RunContext) -> list[Table]:
    """Return the channel's tables at the captured position, without those that are not in the stream."""
    left_out = {one.table_id for one in run.source.membership.left_out() if not one.is_reloaded}
    latest = run.repository.latest_revisions(run.channel.name).values()
    found = (one.table for one in latest if one.table is not None and one.table_id not in left_out)
    return [table for table in found if not table.unlogged]


def _failed(run: RunContext, target: str, error: DdlReplError) -> bool:
    log.error("target %s gets no rows: %s", target, about_target(target, error))
    run.targets.failed[target] = error
    return False


def _waits(run: RunContext, target: str) -> bool:
    """Must a person ask for the target's load? One that needs a person for another reason does not wait."""
    is_asked = run.channel.new_targets is NewTargets.WAIT
    return is_asked and readiness(run, target) in (Readiness.NEW, Readiness.OUTDATED)


def _refusal(run: RunContext, target: str, found: Readiness) -> DdlReplError | None:
    """Return the error that a person has to do something about; None: there is none."""
    may_replace = run.channel.target(target).existing_tables is ExistingTables.REPLACE
    if found is Readiness.FORGOTTEN:
        return forgotten(f"target {target}", run.channel.name)
    if found is Readiness.FOREIGN and not may_replace:
        return foreign(run, target)
    if found is Readiness.FURTHER:
        return ahead(target)
    if found is Readiness.AHEAD:
        return TargetError(
            f"target {target} has started over, but the activation that began it was interrupted",
            code="TGT-107",
            hint="`ddlrepl activate` goes on with it: every table is loaded again",
        )
    return None
