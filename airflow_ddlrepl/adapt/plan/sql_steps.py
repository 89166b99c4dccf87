"""These are the steps of a plan that run SQL: the changes of the target's table in order, written by its engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from airflow_ddlrepl.adapt.plan.dropped_table import makes_way
from airflow_ddlrepl.adapt.plan.verdicts import Case
from airflow_ddlrepl.adapt.plan_model import Step, StepKind
from airflow_ddlrepl.adapt.shape.partitions import has_made, is_carried_by_parent, parent_fill
from airflow_ddlrepl.adapt.shape.type_changes import TYPE_CHANGES, type_steps
from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_type import ChangeType, Using
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.sql.conversion import Conversion
from airflow_ddlrepl.ddl.tables.change_key import ChangeKey
from airflow_ddlrepl.ddl.tables.detach_partition import DetachPartition
from airflow_ddlrepl.ddl.tables.rename_table import RenameTable
from airflow_ddlrepl.ddl.types.change_type_definition import ChangeTypeDefinition, ReplaceType
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.types import Cast

# What happens at once even where a refresh brings the rest: it touches no row. A table becomes a partition with its
# new rows, when it has the key that it needs for that.
_NEUTRAL = (RenameTable, DetachPartition, *TYPE_CHANGES)


_USING = {
    Conversion.ASSIGN: Using.ASSIGN,
    Conversion.CAST: Using.EXPLICIT,
    Conversion.BY_TEXT: Using.BY_TEXT,
    Conversion.FILE: Using.AS_WRITTEN,
}


@dataclass(frozen=True, slots=True)
class Rendering:
    """A rendering turns the change from `present` to `wanted`, both shapes of the target table, into SQL steps.

    verdict: the steps that the policies ask for. known: the changes between the shapes; None: they are looked for.
    """

    render: Renderer
    case: Case
    present: Table
    wanted: Table
    verdict: tuple[Step, ...]
    known: tuple[SchemaChange, ...] | None = None

    def steps(self) -> tuple[tuple[Step, ...], Table]:
        """Return the SQL steps, and the shape that the table has after them.

        While a refresh waits they are type changes, renames and partitions only; the refresh brings the rest.
        """
        shape = self.present
        if any(s.kind is StepKind.REFUSE for s in self.verdict):
            return (), shape
        steps: list[Step] = []
        for change in self._changes():
            if self._is_left_to_refresh(change):
                facts = self.case.facts
                if is_carried_by_parent(change, shape, self.wanted, facts) and has_made(facts.parent_shape, change):
                    shape = change.apply(shape) or shape
                continue
            steps += self._steps(change, shape)
            shape = change.apply(shape) or shape
        return _committed_first(tuple(steps)), shape

    def _changes(self) -> tuple[SchemaChange, ...]:
        if self.known is not None:
            return self.known
        return diff(self.present, self.wanted, self.case.facts.server.type_system)

    def _is_left_to_refresh(self, change: SchemaChange) -> bool:
        return self._is_refreshed and not isinstance(change, _NEUTRAL)

    def _steps(self, change: SchemaChange, shape: Table) -> Iterator[Step]:
        if isinstance(change, TYPE_CHANGES):
            yield from self._type_steps(change, shape)
            return
        if is_carried_by_parent(change, shape, self.wanted, self.case.facts):
            yield from parent_fill(change, shape, self.render)
            if isinstance(change, ChangeKey):  # the keys are there; which of them tells rows apart is the partition's
                yield from _sql(change, self.render.sql(change.as_role(), shape))
            return
        if isinstance(change, RenameTable):
            yield from self._make_way(change)
        if isinstance(change, AddColumn):
            self._check_free(change)
        yield from _sql(change, self._sql(change, shape))

    def _sql(self, change: SchemaChange, shape: Table) -> tuple[str, ...]:
        if not isinstance(change, ChangeType):
            return self.render.sql(change, shape)
        found = self.case.facts.server.type_system.cast(change.old.type, change.type)
        sql = self.render.sql(replace(change, using=self._using(change, found)), shape)
        zone = self.case.evidence.timezone
        return self.render.in_time_zone(zone, sql) if found is Cast.BY_TIME_ZONE and zone else sql

    def _using(self, change: ChangeType, found: Cast) -> Using:
        """Return how the target converts a column's values: as the source did.

        Where that isn't known, and a policy asks for no refresh, as far as a cast goes.
        """
        how = self.case.evidence.conversion(change.name)
        if how is not Conversion.OTHER:
            return _USING[how]
        if self.case.evidence.rewritten is False and not self.case.is_in_tree:
            return Using.ASSIGN
        return Using.BY_TEXT if found is Cast.UNKNOWN else Using.EXPLICIT

    def _type_steps(self, change: SchemaChange, shape: Table) -> Iterator[Step]:
        yield from type_steps(change, shape, self.case.facts, self.render)
        if isinstance(change, ReplaceType) and not self._is_refreshed:
            yield from _sql(change, self.render.sql(change, shape))
        if isinstance(change, ChangeTypeDefinition) and not self._is_refreshed:
            yield from _sql(change, self.render.new_texts(change, shape))

    @property
    def _is_refreshed(self) -> bool:
        return any(step.is_reload for step in self.verdict)

    def _make_way(self, change: RenameTable) -> Iterator[Step]:
        occupant = self.case.facts.occupant
        if occupant is None:
            return
        if not self.case.facts.is_orphaned and not self.case.facts.is_renamed:
            raise Unsupported(
                f"another table has the new name {change.new}",
                code="ADP-104",
                table=self.case.source.name,
                hint="rename or drop that table at the target",
            )
        gone = "dropped" if self.case.facts.is_orphaned else "called otherwise"
        yield makes_way(occupant, f"{gone} at the source, makes way", self.render)

    def _check_free(self, change: AddColumn) -> None:
        existing, name = self.case.facts.existing, change.column.name
        if existing is None or name in {c.name for c in self.present.columns}:
            return
        if name in {c.name for c in existing.columns}:
            raise Unsupported(
                f"the target table has a column {name} of its own",
                code="ADP-105",
                table=self.case.source.name,
                hint="rename or drop that column at the target",
            )


def _sql(change: SchemaChange, sql: tuple[str, ...]) -> Iterator[Step]:
    if sql:
        yield Step(StepKind.SQL, str(change), sql)


def _committed_first(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Mark the steps before one that needs its own commit: they are committed with it. Type changes come first."""
    last = max((i for i, s in enumerate(steps) if s.own_transaction), default=-1)
    return tuple(replace(s, own_transaction=True) if i <= last else s for i, s in enumerate(steps))
