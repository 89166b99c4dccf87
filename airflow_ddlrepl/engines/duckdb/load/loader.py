"""This module loads tables of a DuckDB file: the port `engines.target.Loader`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.engines.abilities.rewinds import RereadsRows
from airflow_ddlrepl.engines.duckdb.catalog.facts import DuckFacts
from airflow_ddlrepl.engines.duckdb.connection.database import staging_folder
from airflow_ddlrepl.engines.duckdb.ddl.partition_views import views_renewed
from airflow_ddlrepl.engines.duckdb.ddl.render import create_table
from airflow_ddlrepl.engines.duckdb.load.new_table import replace_table
from airflow_ddlrepl.engines.duckdb.load.shadow import SHADOWS, Shadow, read_chunk
from airflow_ddlrepl.engines.duckdb.load.unfit_values import discarding, nulling, unique
from airflow_ddlrepl.engines.duckdb.merge.refusals import refusals
from airflow_ddlrepl.engines.duckdb.target.discarded_rows import placed
from airflow_ddlrepl.engines.duckdb.target.state import hold, write_records, write_table_states
from airflow_ddlrepl.engines.duckdb.types.physical import columns_sql, physical
from airflow_ddlrepl.engines.duckdb_sql.conditions import is_true, values_here
from airflow_ddlrepl.engines.duckdb_sql.quoting import qualified
from airflow_ddlrepl.engines.duckdb_sql.raw_rows import RawRows
from airflow_ddlrepl.engines.load_plan import LoadPlan, Step, UnfitValues, UnlikeRows
from airflow_ddlrepl.engines.source_catalog import RowSelection
from airflow_ddlrepl.engines.target import Loader
from airflow_ddlrepl.engines.target_state import Fence, Placing
from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.integrate.steps.discarded_row import DiscardedRow
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import RefreshDone
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.duckdb.target_port import DuckTarget


_ROWS = "ddlrepl_loaded"


@dataclass
class DuckLoader(Loader, RereadsRows):
    """A DuckDB loader loads tables for one refresh. stem: how the names of its shadow tables begin."""

    target: DuckTarget
    stem: str

    @property
    def facts(self) -> DuckFacts:
        return self.target.facts()

    def shadow(self, table_id: int) -> TableName:
        return TableName(SHADOWS, f"{self.stem}{table_id}")

    def place_parent(self, state: TableState, recorded: Table | None, fence: Fence) -> bool:
        """Make the view of a partitioned table; it shows the partitions that are there, each as it is."""
        holder = self.target.holder
        with self.target.writing() as connection, views_renewed(connection, holder):
            hold(connection, holder, fence)
            write_table_states(connection, holder, {state.table_id: state})
            write_records(connection, holder, [RefreshDone(state.table_id, 0)])
        return True

    def make_shadow(self, shape: Table, shadow: TableName) -> None:
        create_table(shape, shadow)  # refuses what a file does not have
        types = columns_sql(shape)
        constants = {c.name: f"CAST({c.default} AS {types[c.name]})" for c in shape.columns if c.extra and c.default}
        Shadow.of(self.target.location, shadow).make(types, constants)

    def put_in_place(self, placing: Placing, fence: Fence) -> str:
        """Copy the chunks into a new table, in one transaction with the table's state."""
        state, shadow = placing.state, Shadow.of(self.target.location, placing.shadow)
        with self.target.writing() as connection, refusals(state.name):
            hold(connection, self.target.holder, fence)
            with views_renewed(connection, self.target.holder):
                count = replace_table(connection, self.target.holder, placing, shadow)
                if count != placing.rows and not shadow.is_finished:
                    raise _not_all(placing, count)
                write_table_states(connection, self.target.holder, {state.table_id: state})
            at = state.snapshot.high if state.snapshot else placing.at or Position(0)
            left = [DiscardedRow(state.table_id, *one, at) for one in shadow.discarded]
            placed(connection, self.target.holder, state.table_id, [*left, *placing.discarded])
            write_records(connection, self.target.holder, [RefreshDone(state.table_id, count)])
            reach("refresh.transaction")
        shadow.remove()
        return "placed"

    @property
    def converts_archives(self) -> bool:
        return True

    def as_archived(self, column: Column) -> Column:
        return replace(column, type=self.facts.type_system.text)

    def finishing(self, plan: LoadPlan, render: Renderer) -> tuple[str, ...]:
        own_key = plan.shape.key_columns() if plan.shape.key and not plan.shape.key.name else ()
        return (*super().finishing(plan, render), *unique(plan.shadow, own_key))

    def of_step(self, step: Step, plan: LoadPlan, render: Renderer) -> Sequence[str]:
        match step:
            case UnlikeRows(condition, here):
                wanted = is_true(condition, values_here(here, plan.shape.types, physical))
                return [f"DELETE FROM {qualified(plan.shadow)} WHERE NOT ({wanted})"]
            case UnfitValues(columns, discards=True):
                return discarding(plan.shadow, plan.shape, columns)
            case UnfitValues(columns):
                return [sql for column in columns for sql in nulling(plan.shadow, column)]
            case _:
                return super().of_step(step, plan, render)

    def sizes(self, names: Mapping[int, TableName]) -> dict[int, int]:
        shadows = {key: Shadow.of(self.target.location, name) for key, name in names.items()}
        return {key: sum(one.stat().st_size for one in shadow.chunks) for key, shadow in shadows.items()}

    def chunks(self, place: TableName, selection: RowSelection, most: int) -> list[RawRows]:
        paths = Shadow.of(self.target.location, place).chunks
        return [RawRows(partial(read_chunk, one), one.stat().st_size, selection, physical) for one in paths]

    def drop(self, names: Collection[TableName]) -> None:
        for name in names:
            Shadow.of(self.target.location, name).remove()

    def end(self) -> None:
        for folder in staging_folder(self.target.location).glob(f"{self.stem}*"):
            Shadow(folder).remove()


def _not_all(placing: Placing, count: int) -> TargetError:
    return TargetError(
        f"{placing.rows} rows were loaded, and {count} are there to be put in their place",
        code="TGT-120",
        table=placing.state.name,
        hint="the folder beside the file must be one that all workers see (docs/duckdb.md); the table is as it was",
        retryable=True,
    )
