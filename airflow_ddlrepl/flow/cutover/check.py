"""The check of a cut-over looks at source and targets and finds what is missing; it changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow.compute as pc

from airflow_ddlrepl.adapt.program.suspend import isolated, suspended
from airflow_ddlrepl.config.sections.db_sequences import DbSequences
from airflow_ddlrepl.config.sections.places import Target
from airflow_ddlrepl.engines.abilities.of_source import ShowsWriters, Writer
from airflow_ddlrepl.engines.abilities.sequences import ShowsSequences
from airflow_ddlrepl.engines.ability import able, find
from airflow_ddlrepl.engines.target_state import CutOver, TargetState
from airflow_ddlrepl.errors import ConfigError, Unreachable
from airflow_ddlrepl.flow.capture.capture import has_new_log
from airflow_ddlrepl.flow.capture.left_out import not_in_the_log
from airflow_ddlrepl.flow.cutover.condition import DONE_BY_CUT_OVER, Code, Condition, unmet
from airflow_ddlrepl.flow.cutover.differences import compared, known_differences
from airflow_ddlrepl.flow.cutover.missing_objects import missing_objects
from airflow_ddlrepl.flow.pipelines import require_targets
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.sequences.differences import sequence_differences
from airflow_ddlrepl.flow.sequences.replicate import is_wanted
from airflow_ddlrepl.flow.sequences.selection import selected
from airflow_ddlrepl.flow.targets.readiness import what_is_missing
from airflow_ddlrepl.model.change import EventKind
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table_state import TableState, TableStatus

RECENT_SECONDS = 10.0
"""A session that ran a statement in this time may be the one that wrote."""

NOT_READY = "`ddlrepl doctor CHANNEL.yaml` says what is wrong; a target that nobody wants leaves the channel file"


@dataclass(frozen=True)
class CutOverCheck:
    """The result of a check: every condition, and the mark of a cut-over that was done before, or None."""

    channel: str
    conditions: tuple[Condition, ...]
    done: CutOver | None = None

    @property
    def is_ready(self) -> bool:
        """Is nothing missing, but for what the cut-over itself does?"""
        return not unmet(self.conditions, DONE_BY_CUT_OVER)

    @property
    def is_complete(self) -> bool:
        """Is nothing missing at all?"""
        return not unmet(self.conditions)

    def to_json(self) -> dict[str, Any]:
        """Return the check as JSON values."""
        return {
            "channel": self.channel,
            "is_ready": self.is_ready,
            "is_complete": self.is_complete,
            "cut_over": {"at": str(self.done.position), "since": self.done.since.isoformat()} if self.done else None,
            "conditions": [one.to_json() for one in self.conditions],
        }

    def text(self) -> str:
        """Return the check as text for people, what is missing last."""
        ordered = sorted(self.conditions, key=lambda one: not one.is_met)
        return "\n".join([*(one.text() for one in ordered), self._verdict()])

    def _verdict(self) -> str:
        missing = unmet(self.conditions, DONE_BY_CUT_OVER)
        if self.done:
            since = self.done.since.isoformat(sep=" ", timespec="seconds")
            more = " The source, or a target, is not as the cut-over left it." if unmet(self.conditions) else ""
            return f"channel {self.channel} is cut over since {since}, at {self.done.position}.{more}"
        if missing:
            return f"{len(missing)} missing: not ready to cut over"
        return "ready: `ddlrepl cutover CHANNEL.yaml --do` switches over"


def check(run: RunContext, *, compares: bool = False) -> CutOverCheck:
    """Return what is missing for a cut-over now. Raises ConfigError CFG-130 when the channel is not active.

    compares: compare all tables now; else what the last comparison found is told.
    """
    require_targets(run.channel, "cutover")
    run.captured()
    found = run.repository.cut_over_at(run.channel.name)
    done = CutOver(*found) if found else None
    conditions = (*_source(run), *_targets(run))
    can_compare = compares and all(one.is_met for one in conditions if one.code is Code.TARGET)
    rows = compared(run) if can_compare else [known_differences(run)]
    return CutOverCheck(run.channel.name, (*conditions, *rows), done)


def _source(run: RunContext) -> Iterator[Condition]:
    yield _writers(run)
    yield Condition(Code.POSITION, None, "changes that are not captured", *_uncaptured(run))
    aside = not_in_the_log(run)
    left_out = tuple(f"{one.name}: {one}" for one in aside if not one.is_reloaded)
    hint = "the docs on this kind of source say how a table can be in the log; or take it out of the channel"
    yield Condition(Code.LEFT_OUT, None, "tables that are left out", left_out, hint)
    whole = tuple(f"{one.name}: {one}" for one in aside if one.is_reloaded)
    hint = "nobody knows whether they have changed since: the cut-over loads them once more"
    yield Condition(Code.LOADED_WHOLE, None, "tables whose changes are in no log", whole, hint)
    held = run.repository.controls(run.channel.name)
    controls = tuple(f"control {one.id} at target {one.target}: {one.reason}" for one in held)
    hint = "deal with the reason, then `ddlrepl controls remove CHANNEL.yaml ID`"
    yield Condition(Code.CONTROLS, None, "controls that hold a target", controls, hint)


def _writers(run: RunContext) -> Condition:
    what = "sessions that write at the source"
    source = find(run.source, ShowsWriters)
    if source is None:
        return Condition(Code.WRITERS, None, what, (f"it {ShowsWriters.lack.what}",), ShowsWriters.lack.hint)
    writers = source.writers()
    return Condition(Code.WRITERS, None, what, tuple(map(str, writers)), how_to_stop(writers) if writers else "")


def recent_writers(run: RunContext) -> list[Writer]:
    """Return who may have written at the source in the last RECENT_SECONDS, where it shows that."""
    source = find(run.source, ShowsWriters)
    return source.writers(RECENT_SECONDS) if source is not None else []


def how_to_stop(writers: Sequence[Writer]) -> str:
    """Return the hint about sessions that write."""
    hint = "stop the applications; then, if need be: " + " ".join(one.end for one in writers)
    return " ".join([hint, *{one.unseen: None for one in writers if one.unseen}])


def _uncaptured(run: RunContext) -> tuple[tuple[str, ...], str]:
    """Return what the channel has not captured, and what to do about it; two empty values when it has everything."""
    if not has_new_log(run):
        return (), ""
    recent = f"ran a statement in the last {RECENT_SECONDS:.0f} s"
    suspects = [f"{recent}: {one}" for one in recent_writers(run)]
    log = f"what the source has written between {run.captured()} and {run.source.log_end()} is not captured"
    return (log, *suspects), "the cut-over captures them; before it, `ddlrepl replicate` does"


def _targets(run: RunContext) -> Iterator[Condition]:
    for target in run.channel.targets:
        if missing := _not_prepared(run, target):
            yield Condition(Code.TARGET, target.name, "reasons why it is not ready", (missing,), NOT_READY)
            continue
        yield Condition(Code.TARGET, target.name, "reasons why it is not ready")
        now = run.target(target.name).state()
        yield _applied(run, target.name, now)
        yield from _tables(target.name, now)
        yield _owners(run, target.name, now)
        yield from _objects(run, target.name, now)


def _objects(run: RunContext, target: str, now: TargetState) -> Iterator[Condition]:
    """Yield what is missing of the tables' objects; where somebody alters a table now, that they can't be looked at."""
    isolation = FailureIsolation()
    with isolation.one(target):
        yield from [*missing_objects(run, target, now), *sequence_conditions(run, target, dict(now.table_states))]
    for error in isolation.errors:
        what = "constraints, indexes, triggers and sequences, which can't be looked at now"
        yield Condition(Code.CONSTRAINTS, target, what, (error.message,), error.hint)


def _not_prepared(run: RunContext, target: Target) -> str:
    try:
        return what_is_missing(run, target.name)
    except (ConfigError, Unreachable) as error:
        return error.message


def _applied(run: RunContext, target: str, now: TargetState) -> Condition:
    changes = f"it is at {now.lsn}, and changes are captured up to {run.captured()}"
    found = (changes,) if has_more(run, now.lsn) else ()
    hint = "the cut-over applies them; before it, `ddlrepl replicate` does"
    return Condition(Code.POSITION, target, "captured changes that it lacks", found, hint)


def has_more(run: RunContext, position: Position) -> bool:
    """Is a change captured, of rows or of a shape, that committed at this position or later?"""
    if any(event.kind != EventKind.IGNORED for event in run.repository.events(run.channel.name, position)):
        return True
    segments = [row for row in run.repository.segments(run.channel.name, position) if row.high > position]
    return any(
        pc.any(pc.greater_equal(run.transactions(row)["lsn"], int(position))).as_py() for row in segments if row.rows
    )


def _tables(target: str, now: TargetState) -> Iterator[Condition]:
    late = tuple(_with_reason(one) for one in suspended(now.table_states))
    hint = "docs/suspended_tables.md says what brings them back: `ddlrepl errors retry CHANNEL.yaml`, or a refresh"
    yield Condition(Code.SUSPENDED, target, "suspended tables", late, hint)
    waiting = [one for one in now.table_states.values() if one.waits_for_refresh]
    names = tuple(_with_reason(one) for one in sorted(waiting, key=lambda one: one.name))
    yield Condition(Code.WAITING, target, "tables that wait for a refresh", names, "`ddlrepl refresh CHANNEL.yaml`")
    apart = tuple(_with_reason(one) for one in isolated(now.table_states))
    hint = "let the refresh end that loads them; without one, `ddlrepl replicate` loads them"
    yield Condition(Code.ISOLATED, target, "tables that a refresh has isolated", apart, hint)


def _owners(run: RunContext, target: str, now: TargetState) -> Condition:
    """Return the condition about tables that belong to roles which the channel does not trust."""
    live = [one.shape.with_(name=one.name) for one in now.table_states.values() if one.state is TableStatus.LIVE]
    strange = run.target(target).facts().owned_by_strangers(live)
    found = tuple(f"{name}: {error.message}: {error.hint}" for name, error in sorted(strange.items()))
    hint = "the channel writes nothing there: hand them back, or name the role in `trusted_owners`"
    return Condition(Code.OWNERS, target, "tables that use what belongs to roles that are not trusted", found, hint)


def _with_reason(one: TableState) -> str:
    why = f": {one.suspension} (at {Position(one.suspension.at.lsn)})" if one.suspension else ""
    rows = f" (rows where {one.partial.condition})" if one.partial is not None and one.awaits_rows else ""
    state = rows or ("" if one.suspension else f" ({one.state.value})")
    return f"{one.name}{state}{why}"


def sequence_conditions(run: RunContext, target: str, tables: dict[int, TableState]) -> Iterator[Condition]:
    """Yield the condition about a target's sequences. tables: those of the channel there, by the source's id."""
    if is_wanted(run):
        behind = tuple(map(str, sequence_differences(run, target)))
        hint = "the cut-over sets them, with `--headroom` so many numbers ahead; before it, `ddlrepl replicate` does"
        yield Condition(Code.SEQUENCES, target, "sequences that are not ahead of the source's", behind, hint)
        return
    channel = run.channel.model_copy(update={"db_sequence": DbSequences()})
    catalog = able(run.source, ShowsSequences).sequences.catalog(partial(selected, channel, tables=tables))
    names = sorted(str(catalog.sequences[one].name) for one in catalog.values)
    hint = "set `db_sequence: true` (docs/sequences.md), or setval at the target by yourself"
    what = "sequences that the channel file leaves out"
    yield Condition(Code.SEQUENCES_LEFT_OUT, target, what, tuple(names), hint)
