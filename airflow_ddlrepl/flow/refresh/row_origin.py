"""A refresh reads its rows from an origin (the source, an archive, a rewind's tables); a table may get some only."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from airflow_ddlrepl.adapt.plan.plan import target_shape
from airflow_ddlrepl.adapt.policy import policy_at
from airflow_ddlrepl.adapt.shape.partitions import joined
from airflow_ddlrepl.adapt.shape.source_expressions import require_texts
from airflow_ddlrepl.adapt.shape.target_shape import Note, become_text
from airflow_ddlrepl.adapt.shape.wanted_shape import wanted_shape
from airflow_ddlrepl.adapt.target_facts import TargetFacts, TargetServer
from airflow_ddlrepl.engines.differing import Differing
from airflow_ddlrepl.engines.load_plan import Step
from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.flow.mapping.row_filters import condition_at
from airflow_ddlrepl.flow.mapping.server_traits import target_server
from airflow_ddlrepl.flow.mapping.tables import read_for, seen_at
from airflow_ddlrepl.flow.mapping.value_functions import transform_at
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.integrate.steps.discarded_row import DiscardedRow
from airflow_ddlrepl.mapping.misfits import is_cut, may_not_fit
from airflow_ddlrepl.mapping.values import Transform, for_columns
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.table_settings import CoerceErrorPolicy
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.model.visibility import Visibility
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.notation.condition.parser import condition as parse
from airflow_ddlrepl.notation.condition.parser import spelled
from airflow_ddlrepl.notation.condition.row_limit import RowLimit, row_limit
from airflow_ddlrepl.ports.rows import RowSource
from airflow_ddlrepl.sql.expressions.allowed import user_functions

Pairs = Sequence[tuple[Column, Column]]
"""Pairs have a column of the source's table, and the column that takes its values."""


@dataclass(frozen=True, slots=True)
class TableLoad:
    """A table load says what a refresh loads of one table.

    table: its shape at the source. after: the target's table after the load. read: `table` with those of its columns
    that have values for the target. condition: true for the rows that the target takes; None: all. transform: computes
    some of their values. policy: what happens to values that the target's columns can't hold. limit: the rows of the
    target's table that these replace; None: all. discarded: rows that the target discards and that are not among these.
    """

    table: Table
    after: TableState
    read: Table
    condition: Part | None = None
    transform: Transform | None = None
    policy: CoerceErrorPolicy = CoerceErrorPolicy.FAIL
    limit: RowLimit | None = None
    discarded: Sequence[DiscardedRow] = ()

    @property
    def cut(self) -> Pairs:
        """Return the columns whose texts may be cut, each with the target's; never those of the key."""
        pairs = self._beside_the_key if self.policy is CoerceErrorPolicy.TRUNCATE else ()
        return [(theirs, ours) for theirs, ours in pairs if is_cut(theirs, ours)]

    @property
    def unfit(self) -> Pairs:
        """Return the columns whose values the target's may not hold, each with that, where the file says what then."""
        pairs = self.columns if self.policy is CoerceErrorPolicy.DISCARD else self._beside_the_key
        return [(theirs, ours) for theirs, ours in pairs if self.policy.replaces and may_not_fit(theirs, ours)]

    def by_text(self, pairs: Pairs) -> tuple[Column, ...]:
        """Return the target's columns that read the source's texts as another type, as the rows are loaded.

        pairs: what a chunk of the rows has. Values that may not fit, or that are cut, are read when all are loaded.
        """
        own, later = self.after.settings.columns.types, {ours.id for _, ours in (*self.unfit, *self.cut)}
        return tuple(
            ours
            for theirs, ours in pairs
            if theirs.name in own and theirs.type.text != ours.type.text and ours.id not in later
        )

    @property
    def _beside_the_key(self) -> Pairs:
        key = self.after.shape.key or self.table.key
        keys = key.columns if key else ()
        return [(theirs, ours) for theirs, ours in self.columns if theirs.id not in keys]

    @property
    def columns(self) -> Pairs:
        """Return the source's columns that are loaded, each with the target's."""
        return columns_loaded(self.read, self.after.shape)

    @property
    def kept_columns(self) -> list[str]:
        """Return the target's columns that the source had once, and does not have any more."""
        ids = {column.id for column in self.read.columns}
        others = (column for column in self.after.shape.columns if column.id not in ids)
        return [column.name for column in others if not column.extra and not column.generated]


def columns_loaded(read: Table, shape: Table) -> Pairs:
    """Return the columns of `read` that a table of this shape takes values of, each with its own."""
    there = {column.id: column for column in read.columns}
    return [(there[c.id], c) for c in shape.columns if not c.generated and c.id in there]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk is some rows of a table. columns: of the rows, each with the shadow table's that takes its values."""

    load: TableLoad
    rows: RowSource
    columns: Pairs


class RowOrigin(Protocol):
    """A row origin lists the tables that a refresh loads, and reads their rows."""

    @property
    def tables(self) -> Sequence[Table]:
        """Return the tables that are loaded, as at the source."""
        ...

    @property
    def sizes(self) -> Mapping[int, int]:
        """Return about how many bytes each table takes, by id; each call counts them again."""
        ...

    @property
    def empty(self) -> Collection[int]:
        """Return the ids of tables that are known to have no row."""
        return ()

    def load_of(self, table: Table) -> TableLoad:
        """Return what is loaded of a table. Raises what its conditions and functions raise."""
        ...

    def shadow_shape(self, load: TableLoad) -> Table:
        """Return the shape of a table's shadow while it is loaded: the target table's, where the rows fit it."""
        return load.after.shape

    def finishing(self, load: TableLoad, shadow: TableName) -> Iterable[Step]:
        """Return the steps after which a loaded shadow has the rows and columns of the target's table."""
        return ()

    def differing(self, load: TableLoad) -> Differing | None:
        """Return the rows of a table at the source that the target's table may lack; None: all have to be compared.

        Asked only of a table that is as the last load left it (`differing.is_as_loaded`).
        """
        return None

    def mark(self, load: TableLoad) -> str:
        """Return the mark of a table at the source that is loaded as it is (`is_copy`); empty: there is none."""
        return ""

    def chunks(self, loads: Sequence[TableLoad]) -> AbstractContextManager[Sequence[Chunk]]:
        """Open the rows of all tables, the largest chunk first."""
        ...


@dataclass(frozen=True)
class ShapesAtTarget:
    """This value computes the shapes of tables at a target once they are loaded there.

    facts: the server there. table_states: the channel's tables there now. tables: those that are loaded together,
    under `snapshot`. told: takes what the target can't have of the tables.
    """

    context: RunContext
    into: str
    facts: ServerFacts
    table_states: Mapping[int, TableState]
    tables: Sequence[Table]
    snapshot: Visibility
    told: dict[str, None] = field(default_factory=dict)

    @cached_property
    def server(self) -> TargetServer:
        """Return what is known of the target's server, for all tables."""
        return target_server(self.context, self.facts)

    def after(self, table: Table) -> TableState:
        """Return the state of a table at the target after it was loaded."""
        at = self.context.channel.at(self.into)
        name = at.target_name(table.name)
        parent = self.table_states.get(table.partition.of) if table.partition else None
        facts = TargetFacts(
            self.server,
            name_after=name,
            parent=parent.name if parent else None,
            has_parent=parent is not None or table.partition is None,
        )
        seen = seen_at(at, table)
        require_texts(seen, self.server.version, self.facts.strange(user_functions(seen.partition_key)))
        notes: list[Note] = []
        held = target_shape(seen, facts=facts, note=notes.append)
        for why in (*become_text(seen, held, facts), *(f"{table.name}: {n.text}" for n in notes if n.is_told)):
            if why not in self.told:
                log.warning("%s", why)
            self.told[why] = None
        policy = policy_at(at, table.name)
        shape = wanted_shape(self.table_states[table.id].shape, held, policy, self.server.type_system)
        if parent is not None and all(parent.table_id != one.id for one in self.tables):
            shape = joined(shape, parent.shape)
        name = name if policy.adapts else shape.name
        settings = at.settings(table.name)
        return TableState(table.id, name, shape, TableStatus.LIVE, self.snapshot, settings)

    def load_of(self, table: Table) -> TableLoad:
        """Return what is loaded of a table by the channel file's present settings."""
        at = self.context.channel.at(self.into)
        present, read = self.table_states[table.id], read_for(at, table)
        partial = present.partial if present.awaits_rows else None
        after = self.after(table)
        if partial is not None:
            after = replace(present, suspension=None, partial=replace(partial, until=self.snapshot.high))
        names = [theirs.name for theirs, _ in columns_loaded(read, after.shape)]
        transform = for_columns(transform_at(at, table), names)
        condition, limit = condition_at(at, table), None
        if partial is not None:
            condition = _both(partial.condition, condition)
            limit = row_limit(parse(partial.condition), table, after.shape)
        return TableLoad(table, after, read, condition, transform, after.settings.misfits, limit)


def _both(text: str, other: Part | None) -> Part:
    """Return the condition that both are true; one is as in the channel file."""
    return parse(text) if other is None else parse(f"({text}) AND ({spelled(other)})")
