"""This module is DuckDB as an engine: it opens targets, and imports each part when it is needed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines import Compares, TargetEngine
from airflow_ddlrepl.errors import DdlReplError

if TYPE_CHECKING:
    from airflow_ddlrepl.compare.report import TableReport
    from airflow_ddlrepl.config.sections.channel import Channel
    from airflow_ddlrepl.engines.comparing import CompareTask, WrittenKeys
    from airflow_ddlrepl.engines.duckdb.merge.stage import DuckStager
    from airflow_ddlrepl.engines.duckdb.target_port import DuckTarget
    from airflow_ddlrepl.engines.duckdb.types.type_system import DuckTypes
    from airflow_ddlrepl.engines.loading import FinishTask, LoadedChunk, LoadTask
    from airflow_ddlrepl.integrate.stage_task import StageTask


class DuckEngine(TargetEngine, Compares):
    """The DuckDB engine opens DuckDB files as targets."""

    @property
    def drivers(self) -> dict[str, str]:
        return {"duckdb": "duckdb"}

    @property
    def extra(self) -> str:
        return "duckdb"

    @property
    def types(self) -> DuckTypes:
        from airflow_ddlrepl.engines.duckdb.types.type_system import DUCK_TYPES

        return DUCK_TYPES

    def target(self, channel: Channel, name: str, location: str, seconds: int | None = None) -> DuckTarget:
        from airflow_ddlrepl.engines.duckdb.target_port import DuckTarget

        return DuckTarget(location, channel.holder(name), seconds)

    def target_rights(self, location: str, schemas: Collection[str] = ()) -> tuple[str, str]:
        from airflow_ddlrepl.engines.duckdb.connection.database import path_of, session

        with session(location):
            return f"{path_of(location)} can be opened and written", ""

    def stager(self, task: StageTask) -> DuckStager:
        from airflow_ddlrepl.engines.duckdb.merge.stage import DuckStager

        return DuckStager()

    def load(self, tasks: Sequence[LoadTask]) -> list[LoadedChunk]:
        from airflow_ddlrepl.engines.duckdb.load.load_chunk import load

        return [load(task) for task in tasks]

    def finish_shadow(self, task: FinishTask) -> LoadedChunk:
        from airflow_ddlrepl.engines.duckdb.load.load_chunk import finish_shadow

        return finish_shadow(task)

    def compare(self, tasks: Sequence[CompareTask]) -> list[TableReport]:
        from airflow_ddlrepl.engines.duckdb.compare.compare import compare_tables

        return compare_tables(tasks)

    def written_keys(self, task: WrittenKeys) -> dict[str, bool] | None:
        from airflow_ddlrepl.engines.duckdb.types.physical import physical
        from airflow_ddlrepl.engines.duckdb_sql.written_keys import written_keys

        return written_keys(task, physical)

    def explained(self, error: BaseException) -> DdlReplError | None:
        from airflow_ddlrepl.engines.duckdb.connection.database import explained

        return explained(error)


ENGINE = DuckEngine()
