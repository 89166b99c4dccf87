"""The pending log of a target is captured and not applied there yet; it comes with the target's present tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from airflow_ddlrepl.adapt.program.builder import ProgramBuilder
from airflow_ddlrepl.adapt.program.draft import whole
from airflow_ddlrepl.adapt.program.program import Program
from airflow_ddlrepl.adapt.program.suspend import CatchUp, Suspensions
from airflow_ddlrepl.adapt.target_facts import Refusal
from airflow_ddlrepl.capture.enroll import shapes_in
from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.engines.target_state import TargetState
from airflow_ddlrepl.flow.apply.partition_reload import PartitionReloads
from airflow_ddlrepl.flow.apply.replicat import TargetReplicat
from airflow_ddlrepl.flow.apply.table_planner import planner
from airflow_ddlrepl.flow.mapping.tables import changed, read_for
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.model.visibility import Visibility
from airflow_ddlrepl.scope.client import client_at


@dataclass
class Attempt:
    """An attempt is what a run knows of a target's refusals while it looks for a program that the target takes.

    until: not beyond it. only: ids of the tables that the program is about; None: all of the channel.
    refused: changes that the target has refused so far. suspensions: tables to suspend. catch_up: the suspended tables
    that the program is about; None: it is about the others. nearest: the position to stop at first. tries: how often
    the source's statements were run, by their places in the log.
    """

    until: Position | None = None
    only: Container[int] | None = None
    refused: dict[tuple[int, LogKey], Refusal] = field(default_factory=dict)
    suspensions: Suspensions = field(default_factory=Suspensions)
    catch_up: CatchUp | None = None
    nearest: Position | None = None
    tries: Counter[LogKey] = field(default_factory=Counter)

    def tried(self, statement: LogKey) -> int:
        """Count a try of a statement of the source, which the target has refused; return how many there were."""
        self.tries[statement] += 1
        return self.tries[statement]


@dataclass
class PendingLog:
    """A pending log is the captured log from a target's position on, with the tables that the target has now.

    seen: by snapshot, the commits of that log that it contains.
    """

    target: str
    low: Position
    high: Position
    table_states: Mapping[int, TableState]
    events: Sequence[Event]
    builder: ProgramBuilder
    seen: dict[Visibility, frozenset[int]] = field(default_factory=dict)
    replicat: TargetReplicat | None = None

    def program(self, until: Position) -> Program:
        """Return the program that brings the target up to a position."""
        return self.builder.build(self.table_states, self.events, self.low, until)

    @property
    def has_rows_alone(self) -> bool:
        """Is there nothing in it, and nothing to be done with it, that changes a table's state?"""
        return not self.events and self.builder.suspensions.is_empty and self.builder.catch_up is None

    def shortened(self, whole: Program, until: Position) -> Program:
        """Return the program up to an earlier position than another one's end, of which it is the beginning.

        Where rows alone come after the position, nothing is planned again.
        """
        beyond = (event for event in self.events if until < event.end <= whole.high)
        if self.builder.suspensions.is_empty and whole.is_cut_by_rows and next(beyond, None) is None:
            return whole.cut(until)
        return self.program(until)


@dataclass(frozen=True)
class UncapturedLog:
    """An uncaptured log is what a look beyond the captured position found: events, the revisions they make, its end."""

    events: Sequence[Event] = ()
    revisions: Sequence[Revision] = ()
    high: int = 0


class TargetAt(NamedTuple):
    """This is where a target is: its server, up to where the log is applied, and its tables; some may be further."""

    facts: ServerFacts
    low: Position
    table_states: Mapping[int, TableState]
    table_positions: Mapping[int, LogKey] = MappingProxyType({})


def pending_log(
    context: RunContext,
    target: str,
    ahead: UncapturedLog = UncapturedLog(),
    attempt: Attempt | None = None,
) -> PendingLog:
    """Return the captured log that a target has not applied, as far as an attempt wants it.

    Reads control records and their manifests, no rows. attempt: None: all of the log, for all tables.
    """
    place = context.target(target)
    now = place.state()
    at = TargetAt(place.facts(), now.lsn, now.table_states, now.table_positions)
    if attempt is not None and attempt.catch_up is not None:
        starts = starting_points(now, attempt.catch_up)
        at = at._replace(low=Position(min(starts.values()).lsn), table_positions=starts)
    return pending_log_at(context, target, at, ahead, attempt)


def pending_log_at(
    context: RunContext,
    target: str,
    at: TargetAt,
    ahead: UncapturedLog = UncapturedLog(),
    attempt: Attempt | None = None,
) -> PendingLog:
    """Return the captured log that a target lacks which is, or will be, at a position with these tables."""
    attempt = attempt or Attempt()
    low, table_states, until, catch_up = at.low, at.table_states, attempt.until, attempt.catch_up
    captured = Position(max(context.captured(), ahead.high))
    rows = context.repository.segments_with_events(context.channel.name, low, until)
    segments = [context.trail.segment(row.epoch, row.low) for row in rows]
    events = [e for s in segments for e in context.trail.events(s)] + list(ahead.events)
    history = context.repository.histories(context.channel.name)
    for revision in ahead.revisions:
        history.setdefault(revision.table_id, []).append(revision)
    shape_at = shapes_in(history)
    about = table_states if catch_up is None else catch_up.own(table_states)
    settings = changed(context.channel.at(target), low, about, shape_at)
    events = sorted((e for e in [*events, *([settings] if settings else [])] if e.key.lsn >= low), key=_by_key)
    replicat = TargetReplicat.of(context.channel.at(target))
    if replicat is not None:
        events = replicat.evaluated(events)
    plan = planner(context, target, at.facts, shape_at, table_states, attempt.refused, replicat)
    only = attempt.only if catch_up is None else catch_up.only
    enrolled = frozenset(table_id for table_id in history if only is None or table_id in only)
    client = client_at(context.channel.at(target))
    read = partial(read_for, context.channel.at(target)) if context.channel.has_properties else whole
    is_refreshed = not context.channel.is_replay(target)
    builder = ProgramBuilder(
        plan,
        shape_at,
        enrolled,
        client,
        read,
        is_refreshed,
        at.table_positions,
        suspensions=attempt.suspensions,
        catch_up=catch_up,
        reloads=PartitionReloads(context.channel.at(target), history),
    )
    if replicat is not None:
        builder.passed_over = partial(replicat.passed_over, refused=attempt.refused)
        builder.runs_alone = replicat.runs_alone
        builder.runs_without_table = partial(replicat.runs_without_table, ours=history.keys())
    high = captured if until is None else max(low, min(captured, until))
    return PendingLog(target, low, high, table_states, events, builder, replicat=replicat)


def starting_points(now: TargetState, catch_up: CatchUp) -> dict[int, LogKey]:
    """Return the place in the log up to which each table of a catch-up has it, by id."""
    found = {}
    for table_id in catch_up.only:
        state = now.table_states.get(table_id)
        if state is not None and state.suspension is not None:
            at = state.suspension.at
            found[table_id] = max(at, now.table_positions.get(table_id, at))
    return found


def _by_key(event: Event) -> LogKey:
    return event.key
