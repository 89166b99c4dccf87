"""This module is the port of a target: what the stages ask of a database that changes go to, of any engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.engines.load_plan import LoadPlan, ShadowChange, Step
from airflow_ddlrepl.engines.target_state import (
    WAITING,
    Applied,
    Capabilities,
    Fence,
    Move,
    Placing,
    RecordAt,
    StagedSlice,
    StateChange,
    TargetPosition,
    TargetState,
    forgotten,
)
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.installation import Problem
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import Record
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.ports.server_facts import ServerFacts as ServerFacts

if TYPE_CHECKING:
    from airflow_ddlrepl.adapt.program.program import Program
    from airflow_ddlrepl.adapt.target_facts import Renderer


class Loader(Protocol):
    """A loader loads tables at a target for one refresh: it fills shadow tables, then puts each into its place.

    Nobody sees the shadow tables; they are put into their places one by one. What an engine does not write is for kinds
    of database with partitions, types of their own, columns that refuse values, or tables that rows are read from.
    """

    @property
    def facts(self) -> ServerFacts:
        """Return the server facts: what exists at the target now."""
        ...

    def shadow(self, table_id: int) -> TableName:
        """Return the name of the shadow table for a table."""
        ...

    def place_parent(self, state: TableState, recorded: Table | None, fence: Fence) -> bool:
        """Create a partitioned table, which holds no rows, or change the columns of the one that exists.

        recorded: the shape that the channel gave it, if it did. Return False, with nothing changed, where rows of its
        partitions forbid it: use `exchange_tree`. Raises CannotAdapt ADP-107 or ADP-131, Fenced LCK-102.
        """
        raise Unsupported(
            "this kind of target has no partitioned tables",
            code="ADP-107",
            table=state.name,
            hint="leave partitioned tables out",
        )

    def exchange_tree(
        self, parents: Sequence[tuple[TableState, Table | None]], leaves: Sequence[Placing], fence: Fence
    ) -> Sequence[str]:
        """Do `place_parent` for partitioned tables, the highest first, and `put_in_place` for their leaves, at once."""
        raise AssertionError("place_parent has raised")

    def renew_types(self, statements: Sequence[str]) -> None:
        """Run the statements that bring the target's types up to date: all of them, or nothing."""
        assert not statements, "this kind of target has no types of a source's"

    def make_shadow(self, shape: Table, shadow: TableName) -> None:
        """Create an empty shadow table of the wanted shape, without its key, and the types that it needs."""
        ...

    def finishing(self, plan: LoadPlan, render: Renderer) -> tuple[str, ...]:
        """Return the statements that a loaded shadow table still needs: those of the plan, and of its key."""
        return tuple(sql for step in plan.steps for sql in self.of_step(step, plan, render))

    def of_step(self, step: Step, plan: LoadPlan, render: Renderer) -> Sequence[str]:
        """Return the statements of one step of a plan. Raises Unsupported ADP-164 for one that the engine lacks."""
        if isinstance(step, ShadowChange):
            return render.sql(step.change, step.before)
        raise Unsupported(
            "this kind of target looks for no values that do not fit",
            code="ADP-164",
            table=plan.shape.name,
            hint="take the target out of `target_tables`",
        )

    def create_empty(self, placings: Sequence[Placing], fence: Fence) -> bool:
        """Create tables that get no rows in their places, without shadow tables; say whether they are there now.

        All or nothing. Where something is in the way, or the engine gains nothing by it, they are loaded as others are.
        """
        return False

    def put_in_place(self, placing: Placing, fence: Fence) -> str:
        """Make a loaded shadow the table, or copy its rows into the table; return which of the two was done.

        All or nothing.
        Raises CannotAdapt ADP-104, ADP-131 or ADP-140, Fenced LCK-102, TargetError TGT-110, and NotByRange where the
        shadow has the rows of some ranges only, and all are needed.
        """
        ...

    def end(self) -> None:
        """Delete the notes about loaded chunks of shadow tables that are gone or have become tables."""
        return None


class Target(Protocol):
    """A target is a database that changes go to, bound to the name under which the channel's state is stored there.

    `close` ends it.
    location: with which tasks that run elsewhere open it again; never for showing. holder: that name.
    """

    capabilities: Capabilities
    location: str
    holder: str

    @property
    def is_closed(self) -> bool:
        """Has its connection come to an end? Then the target has to be opened again."""
        return False

    def dangers(self) -> list[Problem]:
        """Return what works here, and should not stay: whose code runs with the rights of the target's role."""
        return []

    def missing_rights(self) -> list[Problem]:
        """Return rights without which all is written, but not so that others know it by: each with its statement."""
        return []

    def database(self) -> str:
        """Return a text that only a connection to this very database, in this run of its server, returns as well."""
        return self.location

    def facts(self) -> ServerFacts:
        """Return the server facts: what exists there now."""
        ...

    def renderer(self) -> Renderer:
        """Return the renderer, which writes the target's DDL."""
        ...

    def check_condition(self, condition: Part, table: Table, columns: Sequence[Column]) -> None:
        """Raise Unsupported ADP-148 unless the server takes the condition. No row is read."""
        raise Unsupported(
            "this kind of target evaluates no conditions",
            code="ADP-148",
            table=table.name,
            hint="leave `restrict` out for this target",
        )

    def position(self, holder: str = "") -> TargetPosition | None:
        """Return the target's position; None when it was never prepared.

        holder: another name, under which state may be stored here.
        """
        found = self.find_state(holder)
        return TargetPosition(found.lsn, found.epoch, found.token, found.mark) if found is not None else None

    def find_state(self, holder: str = "") -> TargetState | None:
        """Return the state that the target has of the channel; None when it was never prepared for it.

        holder: as for `position`.
        """
        ...

    def state(self) -> TargetState:
        """Return the state that the target has of the channel.

        Raises TargetError TGT-101 when it was never prepared.
        """
        found = self.find_state()
        if found is None:
            raise forgotten(redact(self.location), self.holder)
        return found

    def has_loaded(self) -> bool:
        """Has a table of the channel got its first rows here?"""
        found = self.find_state()
        return found is not None and any(s.state is not TableStatus.NEW for s in found.table_states.values())

    def is_waiting(self) -> bool:
        """Is there a table of the channel that waits here for a refresh?"""
        found = self.find_state()
        return found is not None and any(s.state in WAITING or s.awaits_rows for s in found.table_states.values())

    def prepare(self, token: int) -> None:
        """End the sessions of earlier runs, and create the tables for the target's state, where they do not exist.

        Raises TargetError TGT-102 without the right to, TGT-104 when somebody else has made them.
        """
        return None

    def take_over(self, at: Position, fence: Fence) -> None:
        """Begin again at this position, whatever state the target has.

        For a channel whose repository was made again.
        """
        self.prepare(fence.token)
        self.change_state(StateChange(Move(at, None, restarts=True)), fence)

    def claim(self, fence: Fence) -> None:
        """Stop every earlier run of the channel from writing here: its open changes are rolled back, or finished.

        Raises Fenced LCK-102 when a newer run has been here, TargetError TGT-101 when it knows no such channel.
        """
        ...

    def change_state(self, change: StateChange, fence: Fence) -> None:
        """Write a change of the state, all or nothing. Raises Fenced LCK-102 when another run has been here."""
        ...

    def sweep(self, token: int) -> None:
        """Remove the temporary tables that earlier runs than the one of this token have left."""
        return None

    def staging_name(self, token: int, name: str) -> str:
        """Return the name of a staging table, unique for the channel, the run and `name`."""
        return f"{token}_{name}"

    def apply(
        self, program: Program, slices: Sequence[StagedSlice], records: Sequence[RecordAt], fence: Fence
    ) -> Applied:
        """Apply a program: its rows, schema changes and records; move the position from program.low to program.high.

        All or nothing where DDL is transactional; else in pieces, each with the position of its tables: what a killed
        run has begun is ended by `claim`, and `state` says how far each table has come.
        records: left for the repository. Raises Fenced LCK-102 when another run moved the target, TargetError INT-…
        when rows do not fit, AlterRefused ADP-130 when it refuses a statement, TGT-110 when a lock can't be had.
        """
        ...

    def loading(self, token: int) -> AbstractContextManager[Loader]:
        """Open a session that loads tables; `claim` of a later run ends it."""
        ...

    def outbox(self) -> list[tuple[int, Record]]:
        """Return the records that the repository has yet to take, oldest first.

        Each comes with the number that `acknowledge` takes.
        """
        ...

    def acknowledge(self, numbers: Iterable[int]) -> None:
        """Forget records that the repository has taken, by their numbers."""
        ...

    def forget(self) -> None:
        """Remove the channel's state; its tables stay."""
        ...

    def close(self) -> None:
        """Close the target's connection."""
        return None
