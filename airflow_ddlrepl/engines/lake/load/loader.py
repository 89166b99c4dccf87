"""This module loads tables of a lake: the port `engines.target.Loader`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.ddl.columns.change_default import ChangeDefault
from airflow_ddlrepl.ddl.columns.change_type import ChangeType, Using
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.engines.abilities.rewinds import RereadsRows
from airflow_ddlrepl.engines.lake.catalog.pointers import pointer
from airflow_ddlrepl.engines.lake.catalog.window import LOADED, WindowKind
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.connection.warehouse import file_refusals
from airflow_ddlrepl.engines.lake.ddl.render import create_table
from airflow_ddlrepl.engines.lake.load.choice import Choice
from airflow_ddlrepl.engines.lake.load.fitting import Fitting
from airflow_ddlrepl.engines.lake.load.layout import Layout, layout, new_layout
from airflow_ddlrepl.engines.lake.load.place import place
from airflow_ddlrepl.engines.lake.load.raw_rows import LakeRawRows
from airflow_ddlrepl.engines.lake.load.shadow import SHADOWS, Shadow
from airflow_ddlrepl.engines.lake.merge.refusals import refusals
from airflow_ddlrepl.engines.lake.target.discarded_rows import placed
from airflow_ddlrepl.engines.lake.target.facts import LakeFacts
from airflow_ddlrepl.engines.lake.target.repetition import repeated
from airflow_ddlrepl.engines.lake.target.state import hold, write_records, write_table_states
from airflow_ddlrepl.engines.lake.types.in_duckdb import duckdb_type
from airflow_ddlrepl.engines.lake.types.physical import physical
from airflow_ddlrepl.engines.lake.types.type_system import LAKE_TYPES
from airflow_ddlrepl.engines.load_plan import LoadPlan, ShadowChange, Step, UnfitValues, UnlikeRows
from airflow_ddlrepl.engines.source_catalog import RowSelection
from airflow_ddlrepl.engines.target import Loader
from airflow_ddlrepl.engines.target_state import Fence, Placing
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.integrate.steps.discarded_row import DiscardedRow
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import RefreshDeclined, RefreshDone
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.lake.target_port import LakeTarget


@dataclass
class LakeLoader(Loader, RereadsRows):
    """A lake's loader loads tables for one refresh. stem: how the names of its shadow tables begin."""

    target: LakeTarget
    stem: str

    @property
    def facts(self) -> LakeFacts:
        return self.target.facts()

    def shadow(self, table_id: int) -> TableName:
        return TableName(SHADOWS, f"{self.stem}{table_id}")

    def place_parent(self, state: TableState, recorded: Table | None, fence: Fence) -> bool:
        """Make the view of a partitioned table; it shows the partitions that are there, each as it is."""
        with self.target.writing() as connection, self.target.views_renewed(connection):
            hold(connection, self.target.holder, fence)
            write_table_states(connection, self.target.holder, {state.table_id: state})
            write_records(connection, self.target.holder, [RefreshDone(state.table_id, 0)])
        return True

    def make_shadow(self, shape: Table, shadow: TableName) -> None:
        create_table(shape, shadow)  # refuses what a lake does not have
        with file_refusals(shape.name):
            Shadow.of(self.target.location, shadow).make(Fitting(shape, _constants(shape)), self._layout(shape).ids)

    def _layout(self, shape: Table) -> Layout:
        """Return the layout that a table gets by a load, if nobody changes it until then."""
        state = self._states.get(shape.id)
        if state is None:
            return new_layout(shape)
        at = location_of(self.target.location)
        with self.target.reading() as connection:
            there = pointer(connection, at, state.name)
        recorded = None if state.state is TableStatus.NEW else state.shape
        return layout(there, at.files, recorded, shape) if there else new_layout(shape)

    @cached_property
    def _states(self) -> Mapping[int, TableState]:
        """Return the states of the channel's tables before they are loaded."""
        return self.target.state().table_states

    def finishing(self, plan: LoadPlan, render: Renderer) -> tuple[str, ...]:
        """Return the names of the columns of a key by the channel file; store how values become those of the table."""
        shadow, shape = Shadow.of(self.target.location, plan.shadow), plan.shape
        fitting = replace(shadow.fitting, shape=shape)
        for step in plan.steps:
            fitting = self._with_step(fitting, step, plan)
        with file_refusals(shape.name):
            shadow.fit(fitting, self._layout(shape).ids)
        return tuple(one.name for one in shape.key_columns()) if shape.key and not shape.key.name else ()

    def _with_step(self, fitting: Fitting, step: Step, plan: LoadPlan) -> Fitting:
        match step:
            case UnfitValues(columns, discards):
                return replace(fitting, unfit=[column.name for column in columns], discards=discards)
            case ShadowChange(ChangeType(using=Using.EXPLICIT) as change, before):
                return replace(fitting, cut=[*fitting.cut, before.column(change.id).name])
            case UnlikeRows(condition, here):
                return replace(fitting, choice=Choice.of(condition, here))
            case ShadowChange(DropColumn(column), before):
                return replace(fitting, absent={**fitting.absent, column.name: physical(column.type, before.types)})
            case ShadowChange(ChangeType(using=Using.AS_WRITTEN) | ChangeDefault(), _):
                return fitting
            case _:
                raise Unsupported(
                    "the files of a lake's table are not changed before they are in place",
                    code="ADP-164",
                    table=plan.shape.name,
                    hint="take the target out of `target_tables`",
                )

    def put_in_place(self, placing: Placing, fence: Fence) -> str:
        """Replace the table's rows by the chunks' files, seen in one moment with the table's state."""
        return repeated(lambda: self._put_in_place(placing, fence))

    def _put_in_place(self, placing: Placing, fence: Fence) -> str:
        state, shadow = placing.state, Shadow.of(self.target.location, placing.shadow)
        window = self.target.window(f"{WindowKind.LOAD}{fence.token}")
        window.begin()
        with refusals(state.name), file_refusals(state.name):
            left = place(window, placing, shadow, self.target.arrangement_of(state.name))
            at = state.snapshot.high if state.snapshot else placing.at or Position(0)
            discarded = [DiscardedRow(state.table_id, *one, at) for one in shadow.discarded]
            with self.target.writing() as connection, self.target.views_renewed(connection):
                hold(connection, self.target.holder, fence)
                window.flip(connection, {state.name: {LOADED: str(int(at))}} if at else {})
                write_table_states(connection, self.target.holder, {state.table_id: state})
                placed(connection, self.target.holder, state.table_id, [*discarded, *placing.discarded])
                told = [RefreshDeclined(state.table_id, f"{left} not deleted (masked)", at)] if left else []
                write_records(connection, self.target.holder, [*told, RefreshDone(state.table_id, placing.rows)])
                reach("refresh.transaction")
        shadow.remove()
        return "placed"

    @property
    def converts_archives(self) -> bool:
        return True

    def as_archived(self, column: Column) -> Column:
        return replace(column, type=LAKE_TYPES.text)

    def sizes(self, names: Mapping[int, TableName]) -> dict[int, int]:
        shadows = {key: Shadow.of(self.target.location, name) for key, name in names.items()}
        return {key: sum(map(shadow.size, shadow.chunks)) for key, shadow in shadows.items()}

    def chunks(self, place: TableName, selection: RowSelection, most: int) -> list[LakeRawRows]:
        shadow = Shadow.of(self.target.location, place)
        return [
            LakeRawRows(partial(shadow.rows, one), shadow.size(one), selection, duckdb_type) for one in shadow.chunks
        ]

    def drop(self, names: Collection[TableName]) -> None:
        for name in names:
            Shadow.of(self.target.location, name).remove()

    def end(self) -> None:
        at = location_of(self.target.location)
        for folder in at.files.inside(at.staging_folder):
            if folder.rpartition("/")[2].startswith(self.stem):
                at.files.remove(folder)


def _constants(shape: Table) -> dict[str, str]:
    """Return the texts of the values of columns that no row brings: those which the channel file adds to the table."""
    return {one.name: one.default.strip("'") for one in shape.columns if one.extra and one.default}
