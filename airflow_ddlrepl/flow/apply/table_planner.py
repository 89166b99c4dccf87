"""The table planner plans one table's schema change at one target, with all that it must know of that target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from airflow_ddlrepl.adapt.plan.change_at_target import ChangeAtTarget
from airflow_ddlrepl.adapt.plan.ddl_replay import NEW, run_alone
from airflow_ddlrepl.adapt.plan.plan import plan
from airflow_ddlrepl.adapt.plan.refused_alter import POLICY
from airflow_ddlrepl.adapt.plan.renamed_table import left_behind
from airflow_ddlrepl.adapt.plan_model import TablePlan
from airflow_ddlrepl.adapt.policy import Policy, policy_at
from airflow_ddlrepl.adapt.program.builder import Planner
from airflow_ddlrepl.adapt.program.draft import ShapeAt
from airflow_ddlrepl.adapt.program.program import NO_TABLE
from airflow_ddlrepl.adapt.program.table_states import TableStates, types_elsewhere
from airflow_ddlrepl.adapt.target_facts import Refusal, Renderer, TargetFacts, TargetServer
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.ddl.sql.statement import NOTHING_KNOWN, Evidence, evidence, with_plain_arithmetic
from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.flow.apply.ddl_replay import Texts, require_one_way, without_table
from airflow_ddlrepl.flow.apply.new_tables import former_policy, is_renamed, name_in_use, refuse_occupied, was_there
from airflow_ddlrepl.flow.apply.refused_tree import Refusals, of_tree
from airflow_ddlrepl.flow.apply.renamed_tables import RETURNED, moves, why_returned
from airflow_ddlrepl.flow.apply.replicat import TargetReplicat, with_discard
from airflow_ddlrepl.flow.apply.returned_ddl import ReturnedChange, is_returning
from airflow_ddlrepl.flow.mapping.abilities import require_able
from airflow_ddlrepl.flow.mapping.row_filters import require_lasting
from airflow_ddlrepl.flow.mapping.server_traits import target_server
from airflow_ddlrepl.flow.mapping.settings_change import limit_of, settings_change
from airflow_ddlrepl.flow.mapping.tables import (
    called,
    names_later_columns,
    refused,
    require_like_parent,
    require_one_target,
    seen_at,
    shape_before,
)
from airflow_ddlrepl.flow.mapping.target_tables import with_new_types
from airflow_ddlrepl.flow.mapping.value_functions import require_still_given, transform_at
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.mapping.names import with_revealed_columns
from airflow_ddlrepl.model.change import Event, EventKind, why_ignored
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import END, LogKey
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.sql.expressions.allowed import user_functions


def planner(
    run: RunContext,
    target: str,
    facts: ServerFacts,
    shape_at: Callable[[int, LogKey], Table | None],
    table_states: Mapping[int, TableState],
    refused: Refusals,
    replicat: TargetReplicat | None = None,
) -> Planner:
    """Return the function that plans one table's change at this target.

    facts: what the server there has. table_states: the channel's tables there. replicat: what has evaluated the
    statements; None: the target has none.
    """
    return _Planner(run, run.channel.at(target), facts, shape_at, TableStates.of(table_states), refused, replicat)


@dataclass
class _Planner:
    run: RunContext
    at: ChannelAt
    present: ServerFacts
    shape_at: Callable[[int, LogKey], Table | None]
    now: Mapping[int, TableState]
    refused: Refusals
    replicat: TargetReplicat | None

    def __call__(
        self,
        before: TableState | None,
        new: Table | None,
        event: Event,
        table_states: Mapping[int, TableState],
        reload: str = "",
    ) -> TablePlan:
        if before is None and new is None and not event.dropped:
            return without_table(_statements(self, table_states), event, self._refusal(NO_TABLE, event), self.renderer)
        if before is None and self.replicat is not None and self.replicat.runs_alone(event):
            table_id = new.id if new else next(iter(dict(event.dropped)))
            name = new.name if new else _source_name(self.shape_at, table_id, event)
            alone = _statements(self, table_states).without_tables(event, self._refusal(table_id, event))
            return run_alone(name, alone, self.renderer)
        try:
            if is_returning(event) and (taken := _returned(self, before, new, event, table_states)) is not None:
                return taken
            found = self._plan(before, new, event, table_states, reload)
            found = with_discard(found, before, event, self.replicat) if self.replicat else found
            is_there = new is None and before is not None and any(t.id == before.table_id for t in event.tables)
            return left_behind(found) if is_there else found
        except Unsupported as error:
            assert new is not None
            name = before.name if before else self.at.target_name(new.name)
            return refused(new, name, before, error)

    def _plan(
        self,
        before: TableState | None,
        new: Table | None,
        event: Event,
        table_states: Mapping[int, TableState],
        reload: str,
    ) -> TablePlan:
        table_id = new.id if new else before.table_id if before else 0
        name = new.name if new else _source_name(self.shape_at, table_id, event)
        was = shape_before(self.shape_at, table_id, event)
        reload = reload or why_returned(self.at, before, was, new)
        source_before = new if reload else was
        known = NOTHING_KNOWN if reload else _known(event, table_id, before)
        if before is None and new is not None and was_there(self.run, source_before, table_id, event):
            known = replace(known, filled=True)
        policy = self._policy(name, source_before.name if source_before else name, event)
        former = former_policy(self.at, source_before, new, event) if before and policy.adapts else None
        settings = self.at.settings(name)
        if new is not None:
            if before is not None or policy.adapts or new.partition:
                require_lasting(before, new, settings)
                require_still_given(before, source_before, new, settings)
                transform_at(self.at, new)
            require_able(self.at, [new], self.run.target(self.at.target))
            if policy.adapts:
                _refuse_impossible(self, before, new, event, table_states)
            is_made = (before is None or former) and not self._runs_creation(new, event)
            if is_made and (policy.adapts or new.partition):
                _refuse_occupied(self, new, table_states)
            known = called(with_new_types(known, before, settings), new, self.at)
        known = with_plain_arithmetic(known, source_before, self.run.types) if policy.replays else known
        parent = shape_before(self.shape_at, new.partition.of, event) if new and new.partition else None
        by_shape = reload == RETURNED or former is not None or moves(self.at, before, was, new)
        refusal, is_new = self._refusal(table_id, event), before is None or former is not None
        known_before = self._seen(parent, policy, True) if parent else None
        answered = None if policy.replays and not by_shape else refusal
        facts = self._facts((before, new, event), table_states, is_new, known_before, answered)
        newest = self.shape_at(table_id, END)
        seen = self._seen(new, policy, names_later_columns(self.at, event, newest)) if new else None
        runs_text = _runs_text(policy, before, event) and not by_shape
        return plan(
            ChangeAtTarget(
                _under(before.shape, table_states) if before else None,
                seen,
                self.renderer,
                facts,
                known,
                policy,
                source_before=self._seen_before(source_before, seen, policy) if before and source_before else None,
                settings=settings_change(before, source_before, new, event.kind, known, settings, self.run.types),
                text=_statements(self, table_states).statement(before, new, event, facts, refusal)
                if runs_text
                else None,
                limit=limit_of(before, event, settings),
                former=former,
                reload=reload,
            )
        )

    @cached_property
    def renderer(self) -> Renderer:
        return self.run.target(self.at.target).renderer()

    def _seen(self, table: Table, policy: Policy, lenient: bool = False) -> Table:
        """Return the source's table as the target is to have it; what can't be is an error only where that follows."""
        try:
            return seen_at(self.at, table, lenient=lenient)
        except Unsupported:
            if policy.adapts:
                raise
            return table

    def _seen_before(self, table: Table, after: Table | None, policy: Policy) -> Table:
        return with_revealed_columns(self._seen(table, policy, True), table, after) if after is not None else table

    def _policy(self, name: TableName, before: TableName, event: Event) -> Policy:
        policy = policy_at(self.at, name, before, why_ignored(event))
        return policy.after_approval() if event.key.lsn in self._approved else policy

    @cached_property
    def _approved(self) -> frozenset[int]:
        """Return the positions whose breakpoint a person has removed; for a replay, at any target."""
        target = None if self.at.is_replay else self.at.target
        rows = self.run.repository.controls(self.run.channel.name, target, removed=True)
        return frozenset(row.key.lsn for row in rows if row.removed)

    def _refusal(self, table_id: int, event: Event) -> Refusal | None:
        """Return what the target refused of the change in this run, or in an earlier one that left a breakpoint."""
        own = self.refused.get((table_id, event.key)) or self._stopped.get(event.key.lsn)
        return own or of_tree(self.refused, table_id, event, self.shape_at)

    @cached_property
    def _stopped(self) -> dict[int, Refusal]:
        rows = self.run.repository.controls(self.run.channel.name, self.at.target)
        return {row.key.lsn: Refusal(row.reason, False) for row in rows if row.policy_name == POLICY}

    @cached_property
    def _server(self) -> TargetServer:
        able = self.run.target(self.at.target).capabilities
        return replace(
            target_server(self.run, self.present),
            publishes_generated=self.run.source.catalog.publishes_generated(),
            renames_columns=able.renames_columns,
            alters_types=able.alters_types,
            alters_partitions=able.alters_partitions,
        )

    def _facts(
        self,
        change: tuple[TableState | None, Table | None, Event],
        table_states: Mapping[int, TableState],
        is_new: bool,
        parent_before: Table | None = None,
        refusal: Refusal | None = None,
    ) -> TargetFacts:
        """Return what the plan of a change must know of the target. is_new: the table is to be made there."""
        before, new, event = change
        name, key = self.at.target_name(new.name) if new else None, event.key
        present = None if is_new else before
        other = _occupant(self.now, self.present, new.id, name, present, table_states) if new and name else None
        parent = table_states.get(new.partition.of) if new and new.partition else None
        has_gone = (
            new is not None
            and other is not None
            and is_renamed(self.run, self.at.target, other, new, self.shape_at(other.table_id, key))
        )
        fresh = other if is_new and not has_gone else None
        runs_creation = new is not None and self._runs_creation(new, event)
        return TargetFacts(
            self._server,
            name_before=before.name if before else None,
            name_after=name,
            existing=fresh.shape if fresh and not runs_creation else None,
            occupant=other.shape if other and (not is_new or has_gone) else None,
            is_orphaned=other is not None and other.state is TableStatus.ORPHANED,
            is_renamed=has_gone,
            types=types_elsewhere(present, new, table_states),
            parent=parent.name if parent else None,
            has_parent=parent is not None or new is None or new.partition is None,
            parent_shape=parent.shape if parent else None,
            strange=self.present.strange(user_functions(new.partition_key if new else None)),
            parent_before=parent_before,
            is_pending=present is not None and present.state is TableStatus.PENDING,
            refusal=refusal,
        )

    def _runs_creation(self, new: Table, event: Event) -> bool:
        """Does the source's CREATE TABLE run? Then the target itself says what is in its way."""
        is_text = event.tag == NEW and self.replicat is not None and self.replicat.statement(event) is not None
        return is_text and self.at.replays(new.name)


def _statements(by: _Planner, table_states: Mapping[int, TableState]) -> Texts:
    return Texts(by.at, by.shape_at, table_states, by.replicat)


def _refuse_impossible(
    by: _Planner, before: TableState | None, new: Table, event: Event, table_states: Mapping[int, TableState]
) -> None:
    """Raise Unsupported where properties do not go together."""
    channel, key = by.run.channel, event.key
    family = [(new, by.shape_at(new.partition.of, key) if new.partition else None)]
    for table_state in table_states.values() if new.is_partitioned else ():
        part = table_state.shape.partition
        table = by.shape_at(table_state.table_id, key) if part and part.of == new.id else None
        family += [(table, new)] if table else []
    for table, parent in family:
        require_like_parent(by.at, table, parent)
        require_one_way(channel, (table, *((parent,) if parent else ())))
    require_one_target(by.at, new)
    name = by.at.target_name(new.name)
    for other in TableStates.of(table_states).called(name) if before is None else ():
        is_ours = other.table_id != new.id and other.state is not TableStatus.ORPHANED
        if is_ours and not is_renamed(by.run, by.at.target, other, new, by.shape_at(other.table_id, key)):
            known = _source_name(by.shape_at, other.table_id, event)
            raise name_in_use(by.run, by.at.target, other.table_id, known, new.name)


def _refuse_occupied(by: _Planner, new: Table, table_states: Mapping[int, TableState]) -> None:
    """Raise Unsupported where a table that is not the channel's has the name of a new one."""
    name = by.at.target_name(new.name)
    if not any(TableStates.of(states).called(name) for states in (by.now, table_states)):
        refuse_occupied(by.run, by.at.target, by.present, new)


def _occupant(
    ours: Mapping[int, TableState],
    facts: ServerFacts,
    table_id: int,
    name: TableName,
    before: TableState | None,
    table_states: Mapping[int, TableState],
) -> TableState | None:
    """Return the target's table under the name that the table is to have, when it is another table.

    ours: the channel's tables there as they are now. facts: what the server there has.
    """
    if before is not None and before.name == name:
        return None
    for table_state in TableStates.of(table_states).called(name):
        if table_state.table_id != table_id:
            return table_state
    shape = None if TableStates.of(ours).called(name) else facts.table(name)
    return TableState(shape.id, name, shape) if shape else None


def _returned(
    by: _Planner, before: TableState | None, new: Table | None, event: Event, table_states: Mapping[int, TableState]
) -> TablePlan | None:
    """Return the plan that takes over what the target has already; None: it does not have it."""
    old = shape_before(by.shape_at, new.id if new else before.table_id if before else 0, event)
    change = ReturnedChange(by.at, by.present, before, old, new)
    return change.plan(by._facts((before, new, event), table_states, is_new=before is None))


def _known(event: Event, table_id: int, before: TableState | None) -> Evidence:
    """Return what is known of an event: its statement, or what an inspection or the file's settings show."""
    is_seen = event.is_inspected or event.kind is EventKind.PROPERTIES
    return _inspected(event, table_id) if is_seen and before else evidence(event, table_id)


def _runs_text(policy: Policy, before: TableState | None, event: Event) -> bool:
    """Does the statement's text run? Not on a table that waits for its first rows: a load gives it its shape."""
    waits = before is not None and before.state is TableStatus.NEW
    return policy.replays and policy.adapts and event.kind is EventKind.DDL and not waits


def _source_name(shape_at: ShapeAt, table_id: int, event: Event) -> TableName:
    known = shape_before(shape_at, table_id, event)
    return known.name if known else dict(event.dropped).get(table_id, TableName("", ""))


def _under(shape: Table, table_states: Mapping[int, TableState]) -> Table:
    """Return a partition's shape with its parent's present name: that it was renamed is no change of the partition."""
    parent = table_states.get(shape.partition.of) if shape.partition else None
    if shape.partition is None or parent is None:
        return shape
    return shape.with_(partition=replace(shape.partition, of_name=parent.name))


def _inspected(event: Event, table_id: int) -> Evidence:
    """Return the evidence of an inspection: nothing but whether rows were rewritten, or the log lacks some."""
    return replace(NOTHING_KNOWN, rewritten=table_id in event.rewritten, filled=table_id in event.filled)
