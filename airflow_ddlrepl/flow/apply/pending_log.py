"""The pending log of a target is captured and not applied there yet; it comes with the target's present tables."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from airflow_ddlrepl.adapt.program.builder import ProgramBuilder, whole
from airflow_ddlrepl.adapt.program.program import Program
from airflow_ddlrepl.capture.enroll import valid_at
from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.flow.apply.table_planner import Refusals, planner
from airflow_ddlrepl.flow.mapping.tables import changed, read_for
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.rules.client import client_at

NONE: Refusals = MappingProxyType({})


@dataclass
class PendingLog:
    """A pending log is the captured log from a target's position on, with the tables that the target has now."""

    target: str
    low: Position
    high: Position
    table_states: Mapping[int, TableState]
    events: Sequence[Event]
    timeline: ProgramBuilder
    skipped: dict[int, frozenset[int]] = field(default_factory=dict)

    def program(self, until: Position) -> Program:
        """Return the program that brings the target up to a position."""
        return self.timeline.build(self.table_states, self.events, self.low, until)


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
    until: Position | None = None,
    only: Container[int] | None = None,
    refused: Refusals = NONE,
) -> PendingLog:
    """Return the captured log that a target has not applied, up to `until` at most.

    Reads control records and their manifests, no rows. only: ids of the tables that it is about; None: all of the
    channel. refused: what the target has refused so far.
    """
    place = context.target(target)
    now = place.state()
    at = TargetAt(place.facts(), now.lsn, now.table_states, now.table_positions)
    return pending_log_at(context, target, at, ahead, until, only, refused)


def pending_log_at(
    context: RunContext,
    target: str,
    at: TargetAt,
    ahead: UncapturedLog = UncapturedLog(),
    until: Position | None = None,
    only: Container[int] | None = None,
    refused: Refusals = NONE,
) -> PendingLog:
    """Return the captured log that a target lacks which is, or will be, at a position with these tables."""
    low, table_states = at.low, at.table_states
    captured = Position(max(context.captured(), ahead.high))
    rows = context.repository.segments_with_events(context.channel.name, low, until)
    segments = [context.trail.segment(row.epoch, row.low) for row in rows]
    events = [e for s in segments for e in context.trail.events(s)] + list(ahead.events)
    history = context.repository.histories(context.channel.name)
    for revision in ahead.revisions:
        history.setdefault(revision.table_id, []).append(revision)
    shape_at = _shape_at(history)
    settings = changed(context.channel, target, low, table_states, shape_at)
    events = sorted((e for e in [*events, *([settings] if settings else [])] if e.key.lsn >= low), key=_by_key)
    plan = planner(context, target, at.facts, shape_at, table_states, refused)
    enrolled = frozenset(table_id for table_id in history if only is None or table_id in only)
    client = client_at(context.channel, target)
    read = partial(read_for, context.channel, target) if context.channel.has_properties else whole
    is_refreshed = not context.channel.is_replay(target)
    timeline = ProgramBuilder(plan, shape_at, enrolled, client, read, is_refreshed, at.table_positions)
    high = captured if until is None else max(low, min(captured, until))
    return PendingLog(target, low, high, table_states, events, timeline)


def _by_key(event: Event) -> LogKey:
    return event.key


def _shape_at(history: Mapping[int, Sequence[Revision]]) -> Callable[[int, LogKey], Table | None]:
    def shape_at(table_id: int, key: LogKey) -> Table | None:
        valid = valid_at(history.get(table_id, ()), key)
        return valid.table if valid else None

    return shape_at
