"""This module loads tables of a lake: the port `engines.target.Loader`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.java import iceberg, java_table
from airflow_ddlrepl.engines.lake.connection.location import staging_folder
from airflow_ddlrepl.engines.lake.ddl.render import create_table, definitions
from airflow_ddlrepl.engines.lake.load.shadow import SHADOWS, Shadow
from airflow_ddlrepl.engines.lake.load.target_only_columns import copy_values, has_values
from airflow_ddlrepl.engines.lake.merge.refusals import file_refusals, refusals
from airflow_ddlrepl.engines.lake.target.facts import LakeFacts
from airflow_ddlrepl.engines.lake.target.state import hold, write_records, write_table_states
from airflow_ddlrepl.engines.lake.types.physical import columns_sql
from airflow_ddlrepl.engines.load_plan import LoadPlan, Step
from airflow_ddlrepl.engines.target import Loader
from airflow_ddlrepl.engines.target_state import Fence, Placing
from airflow_ddlrepl.engines.transactional.target_only_columns import target_only
from airflow_ddlrepl.errors import CannotAdapt, TargetError, Unsupported
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.record import RefreshDone
from airflow_ddlrepl.model.table import Table

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.lake.target_port import LakeTarget


@dataclass
class LakeLoader(Loader):
    """A lake's loader loads tables for one refresh. stem: how the names of its shadow tables begin."""

    target: LakeTarget
    stem: str

    @property
    def facts(self) -> LakeFacts:
        return self.target.facts()

    def shadow(self, table_id: int) -> TableName:
        return TableName(SHADOWS, f"{self.stem}{table_id}")

    def make_shadow(self, shape: Table, shadow: TableName) -> None:
        create_table(shape, shadow)  # refuses what a lake does not have
        with file_refusals(shape.name):
            Shadow.of(self.target.location, shadow).make(columns_sql(shape))

    def of_step(self, step: Step, plan: LoadPlan, render: Renderer) -> Sequence[str]:
        raise Unsupported(
            "the files of a lake's table are not changed before they are in place",
            code="ADP-164",
            table=plan.shape.name,
            hint="take the target out of `target_tables`",
        )

    def put_in_place(self, placing: Placing, fence: Fence) -> str:
        """Make a new table of the chunks' files, and replace the old one in one transaction with the table's state."""
        state, shadow = placing.state, Shadow.of(self.target.location, placing.shadow)
        window = self.target.window(f"l{fence.token}")
        window.begin()
        with refusals(state.name), file_refusals(state.name):
            _replace(window, placing, shadow)
            with self.target.writing() as connection:
                hold(connection, self.target.holder, fence)
                window.flip(connection)
                write_table_states(connection, self.target.holder, {state.table_id: state})
                write_records(connection, self.target.holder, [RefreshDone(state.table_id, placing.rows)])
                reach("refresh.transaction")
        shadow.remove()
        return "placed"

    def end(self) -> None:
        for folder in staging_folder(self.target.location).glob(f"{self.stem}*"):
            Shadow(folder).remove()


def _replace(window: Window, placing: Placing, shadow: Shadow) -> None:
    """Make the new table in a window; by key its rows keep what only the target has of them."""
    name, shape = placing.state.name, placing.state.shape
    chunks = shadow.chunks
    if (count := sum(pq.read_metadata(one).num_rows for one in chunks)) != placing.rows:
        raise _not_all(placing, count)
    previous = placing.previous if placing.previous and window.has(placing.previous) else None
    if previous != name and window.has(name):
        raise CannotAdapt(
            f"another table has the name {name}",
            code="ADP-104",
            table=name,
            hint="rename or drop that table at the target",
        )
    old = window.table(previous) if previous else None
    there = dict(window.spark.table(old).dtypes) if old else {}
    own = target_only(there, placing, partial(has_values, window.spark, old))
    if previous:
        window.drop(previous)
    window.create(name, definitions(shape))
    _append(window, window.table(name), chunks)
    if old is not None:
        copy_values(window.spark, old, window.table(name), own)


def _append(window: Window, table: str, chunks: Sequence[Path]) -> None:
    """Commit files to a table. They get a second name in its folder: a run that is killed leaves the shadow whole."""
    if not chunks:
        return
    found, java = java_table(window.spark, table), iceberg(window.spark)
    folder = Path(found.location().removeprefix("file:")) / "data"
    folder.mkdir(parents=True, exist_ok=True)
    metrics = java.MetricsConfig.forTable(found)
    append = found.newAppend()
    for place, chunk in enumerate(chunks):
        path = folder / f"load-{place:05}.parquet"
        _link(chunk, path)
        file = found.io().newInputFile(str(path))
        measured = java.parquet.ParquetUtil.fileMetrics(file, metrics)
        append.appendFile(
            java.DataFiles.builder(found.spec()).withInputFile(file).withMetrics(measured).withFormat("PARQUET").build()
        )
    append.commit()


def _link(chunk: Path, path: Path) -> None:
    try:
        path.hardlink_to(chunk)
    except OSError:  # a file system without hard links
        shutil.copyfile(chunk, path)


def _not_all(placing: Placing, count: int) -> TargetError:
    return TargetError(
        f"{placing.rows} rows were loaded, and {count} are there to be put in their place",
        code="TGT-120",
        table=placing.state.name,
        hint="the warehouse must be a folder that all workers see (docs/lakehouse.md); the table is as it was",
        retryable=True,
    )
