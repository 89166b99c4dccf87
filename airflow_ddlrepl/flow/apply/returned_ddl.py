"""A schema change that came from the target, and returns to it, is taken over there without any statement.

Two channels, there and back: one brings a schema change to the other's source, where an ignored session makes it. Where
the other's target has the shape that it makes, because it came from there, rows with that shape go on.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_ddlrepl.adapt.plan.plan import target_shape
from airflow_ddlrepl.adapt.plan_model import TablePlan
from airflow_ddlrepl.adapt.policy import policy_at
from airflow_ddlrepl.adapt.shape.match_existing import differences
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.config.sections.ignored_sessions import OURS
from airflow_ddlrepl.ddl.columns.change_default import ChangeDefault
from airflow_ddlrepl.ddl.columns.change_identity import ChangeIdentity
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.tables.change_logging import ChangeLogging
from airflow_ddlrepl.ddl.tables.change_replica_identity import ChangeReplicaIdentity
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.ddl.types.create_type import ForgetType
from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.flow.mapping.tables import seen_at
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus

TAKEN_OVER = "taken_over"
"""The word under which a result counts these changes."""
WHY = "the target has the change already: it came from there"
_WITHOUT_ROWS = (DropColumn, ChangeDefault, ChangeIdentity, ForgetType, ChangeLogging, ChangeReplicaIdentity)
"""Differences that no row shows: a column that only the target has, and what values new rows get."""


def is_returning(event: Event) -> bool:
    """Was the event done by a session of this product, and is it ignored?"""
    is_ours = str(event.settings.get("application_name", "")).startswith(OURS)
    return event.kind is EventKind.DDL and bool(event.ignored) and is_ours


@dataclass(frozen=True)
class ReturnedChange:
    """A returned change is a table's change by a session of ours. before: its state at the target; new: at the source.

    old: the source's shape before. present: what the target's server has.
    """

    at: ChannelAt
    present: ServerFacts
    before: TableState | None
    old: Table | None
    new: Table | None

    def plan(self, facts: TargetFacts) -> TablePlan | None:
        """Return the plan that takes the change over; None: the target does not have it. facts: of the target."""
        if self.before is not None and self.before.state is not TableStatus.LIVE:
            return None
        if self.new is None:
            return self._dropped()
        name = self.new.name
        if not policy_at(self.at, name, self.old.name if self.old else name).adapts:
            return None
        wanted = target_shape(seen_at(self.at, self.new), facts=facts)
        if not self._has(wanted, facts):
            return None
        known = self.before.shape if self.before is not None else None
        changes = diff(known, wanted, facts.server.type_system) if known is not None else (CreateTable(self.new),)
        told = tuple(f"{TAKEN_OVER} {change}" for change in changes)
        settings = self.at.settings(name)
        notes = (WHY,) if changes else ()
        return TablePlan(name, wanted.name, told, (), (), notes, wanted, settings=settings)

    def _has(self, wanted: Table, facts: TargetFacts) -> bool:
        """Does the target's table have the wanted shape, but for what the channel itself is about to change there?"""
        found = self.present.table(wanted.name)
        if found is None:
            return False
        types = facts.server.type_system
        coming = differences(found, self.before.shape, types) if self.before is not None else ()
        lacking = (one for one in differences(found, wanted, types) if not isinstance(one, _WITHOUT_ROWS))
        return all(one in coming for one in lacking)

    def _dropped(self) -> TablePlan | None:
        if self.before is None or self.present.table(self.before.name) is not None:
            return None
        name: TableName = self.old.name if self.old is not None else self.before.name
        told = (f"{TAKEN_OVER} drop_table",)
        return TablePlan(name, self.before.name, told, (), (), (WHY,), None, is_removed=True)
