"""A cut-over brings the targets to the end of the source's log, makes sure that nobody writes, and stops the channel.

The repository's mark is the switch: from it on no run writes at a target. The targets have the mark, too, for a
repository can be lost. Killed anywhere and run again, the cut-over ends as if it had not been killed.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from airflow_ddlrepl.engines.abilities.of_source import ShowsWriters
from airflow_ddlrepl.engines.abilities.of_target import CutsOver
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.target_state import CutOver
from airflow_ddlrepl.errors import CannotCutOver, ConfigError, TablesSuspended
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.capture.capture import capture, has_new_log
from airflow_ddlrepl.flow.capture.left_out import not_in_the_log
from airflow_ddlrepl.flow.cutover.check import RECENT_SECONDS, check, has_more, how_to_stop, recent_writers
from airflow_ddlrepl.flow.cutover.condition import DONE_BY_CUT_OVER, ESSENTIAL, Code, Condition, unmet
from airflow_ddlrepl.flow.cycle.replicate import replicate
from airflow_ddlrepl.flow.refresh.refresh import refresh
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.results import Printable
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.sequences.differences import set_sequences
from airflow_ddlrepl.flow.sequences.replicate import is_wanted
from airflow_ddlrepl.flow.stages import CUT_OVER, REOPEN
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.notation.name_pattern import exact_pattern
from airflow_ddlrepl.repository.stored.rows import ChannelState

WATCH_SECONDS = 2.0
"""For so long nobody may have written before the channel is stopped."""


@dataclass(frozen=True)
class CutOverDone(Printable):
    """This is what a cut-over did: where in the source's log, and since when, the targets are the applications'."""

    channel: str
    position: Position
    since: str
    targets: tuple[str, ...]
    accepted: tuple[str, ...] = ()

    def text(self) -> str:
        names = ", ".join(self.targets)
        return (
            f"channel {self.channel} is cut over since {self.since}, at {self.position}: point the applications at"
            f" {names}. No run of the channel writes there.\n`ddlrepl deactivate CHANNEL.yaml` ends the channel;"
            " before anybody writes at a target, `ddlrepl cutover CHANNEL.yaml --undo` lets it go on"
        )


@dataclass(frozen=True)
class Reopened(Printable):
    """This is what was undone: the targets are open to the channel again.

    position: from which on it replicates; None: the repository does not know the channel.
    """

    channel: str
    position: Position | None

    def text(self) -> str:
        goes_on = f"goes on from {self.position}" if self.position is not None else "can be activated again"
        return (
            f"channel {self.channel} {goes_on}. Rows that applications have written at a target stay"
            " until the source changes them: `ddlrepl compare CHANNEL.yaml` shows them, --repair takes them away"
        )


@stage(CUT_OVER)
def cut_over(
    run: RunContext, accepted: Sequence[str] = (), *, compares: bool = False, headroom: int | None = None
) -> CutOverDone:
    """Bring the targets to the end of the source's log and stop the channel, so that applications can use them.

    accepted: codes of conditions that need not be met. compares: compare all tables after the last cycle. headroom: how
    many numbers the targets' sequences are ahead of the source's; None: as the channel file says.
    Raises CannotCutOver CUT-102 when something is missing, CUT-103 while somebody writes at the source, CUT-104 when
    somebody has written meanwhile; then the channel goes on.
    """
    _require_codes(accepted)
    run.targets.applies_now = True
    if run.repository.cut_over_at(run.channel.name) is None:
        _require_no_writer(run, accepted)
        later = {Code.DIFFERENCES} if compares else set()
        _require(run, check(run).conditions, {*accepted, *DONE_BY_CUT_OVER, *later})
        _cycle(run, None, accepted)
        position = run.source.stable_end()
        _require_no_writer(run, accepted)
        _cycle(run, position, accepted)
        _load_whole(run)
        _set_sequences(run, headroom)
        reach("cutover.sequences")
        time.sleep(WATCH_SECONDS)
        _require_nothing_new(run, position)
        _require(run, check(run, compares=compares).conditions, {*accepted, Code.LOADED_WHOLE})
        reach("cutover.caught_up")
        run.repository.cut_over(run.channel.name, run.token, position)
        reach("cutover.stopped")
    return _marked(run, tuple(accepted))


@stage(REOPEN)
def reopen(run: RunContext) -> Reopened:
    """Let a channel that is cut over go on. Raises CannotCutOver CUT-105 when it is not."""
    is_marked = any(able(run.target(target.name), CutsOver).cut_over() for target in run.channel.targets)
    if not is_marked and run.repository.cut_over_at(run.channel.name) is None:
        raise CannotCutOver(
            f"channel {run.channel.name} is not cut over",
            code="CUT-105",
            hint="there is nothing to undo: `ddlrepl replicate` goes on",
        )
    _reopen(run)
    return Reopened(run.channel.name, run.repository.captured(run.channel.name))


def _require_codes(accepted: Iterable[str]) -> None:
    for code in accepted:
        if code not in set(Code) - ESSENTIAL:
            raise ConfigError(
                f"--accept {code}: no condition with that code can be accepted",
                code="CUT-106",
                hint="one of " + ", ".join(sorted(set(Code) - ESSENTIAL)),
            )


def _require(run: RunContext, conditions: Iterable[Condition], accepted: Collection[str]) -> None:
    """Raise CannotCutOver when a condition is not met that is not accepted, either."""
    _require_no_writer(run, accepted)
    if missing := unmet(conditions, accepted):
        found = "; ".join(f"{one.code} {one.head()}: {', '.join(one.found)}" for one in missing)
        raise CannotCutOver(
            f"channel {run.channel.name} is not ready to cut over: {found}",
            code="CUT-102",
            hint="`ddlrepl cutover CHANNEL.yaml` says what to do about each;"
            f" --accept {missing[0].code} goes on although it is missing",
        )


def _require_no_writer(run: RunContext, accepted: Collection[str]) -> None:
    if Code.WRITERS in accepted:
        return
    if writers := able(run.source, ShowsWriters, "the source is of a kind that").writers():
        raise CannotCutOver(
            f"somebody writes at the source of channel {run.channel.name}: {'; '.join(map(str, writers))}",
            code="CUT-103",
            hint=how_to_stop(writers),
        )


def _require_nothing_new(run: RunContext, position: Position) -> None:
    """Raise CannotCutOver CUT-104 when something was committed after the position.

    A log that is too long to be looked through is captured: other databases of the server may have written it.
    """
    if has_new_log(run):
        capture(run)
    if not any(has_more(run, run.target(target.name).state().lsn) for target in run.channel.targets):
        return
    suspects = "; ".join(map(str, recent_writers(run))) or "nobody who is still connected"
    raise CannotCutOver(
        f"somebody has written at the source of channel {run.channel.name} after {position}. In the last"
        f" {RECENT_SECONDS:.0f} seconds these ran a statement: {suspects}",
        code="CUT-104",
        at=position,
        hint="the channel is not cut over and goes on; stop those who write, and run it again",
    )


def _cycle(run: RunContext, until: Position | None, accepted: Collection[str]) -> None:
    """Run a cycle. Tables that stay suspended are no error when that is accepted."""
    try:
        replicate(run, until)
    except TablesSuspended as error:
        if Code.SUSPENDED not in accepted or not all(isinstance(one, TablesSuspended) for one in error.others):
            raise
        log.warning("%s", error.message)


def _load_whole(run: RunContext) -> None:
    """Load the tables whose changes are in no log."""
    if names := [exact_pattern(one.name) for one in not_in_the_log(run) if one.is_reloaded]:
        refresh(run, names)


def _set_sequences(run: RunContext, headroom: int | None) -> None:
    """Set the targets' sequences so many numbers ahead of the source's; the cycle has set them as the file says."""
    if headroom is None:
        return
    if not is_wanted(run):
        raise ConfigError(
            f"--headroom {headroom}: channel {run.channel.name} leaves sequences out",
            code="CUT-106",
            hint="set `db_sequence: true` in the channel file",
        )
    for target in run.channel.targets:
        set_sequences(run, target.name, headroom)


def _marked(run: RunContext, accepted: tuple[str, ...]) -> CutOverDone:
    """Store at each target that applications use it; when somebody has written before that, let the channel go on."""
    found = run.repository.cut_over_at(run.channel.name)
    assert found is not None
    mark, names = CutOver(*found), tuple(target.name for target in run.channel.targets)
    if unmarked := [name for name in names if able(run.target(name), CutsOver).cut_over() != mark]:
        try:
            _require_nothing_new(run, mark.position)
        except CannotCutOver:
            _reopen(run)
            raise
        for name in unmarked:
            able(run.target(name), CutsOver).mark_cut_over(mark, run.fence)
            reach("cutover.marked")
    since = mark.since.isoformat(sep=" ", timespec="seconds")
    return CutOverDone(run.channel.name, mark.position, since, names, accepted)


def _reopen(run: RunContext) -> None:
    for target in run.channel.targets:
        able(run.target(target.name), CutsOver).mark_cut_over(None, run.fence)
    reach("cutover.reopened")
    if run.repository.cut_over_at(run.channel.name) is not None:
        run.repository.set_state(run.channel.name, run.token, ChannelState.ACTIVE)
