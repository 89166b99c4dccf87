"""This module is DuckDB as an engine: it opens targets, and imports each part when it is needed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines import Engine
from airflow_ddlrepl.errors import DdlReplError, Unsupported

if TYPE_CHECKING:
    from airflow_ddlrepl.compare.report import TableReport
    from airflow_ddlrepl.config.sections.channel import Channel
    from airflow_ddlrepl.engines.comparing import CompareTask
    from airflow_ddlrepl.engines.duckdb.merge.stage import DuckStager
    from airflow_ddlrepl.engines.duckdb.target_port import DuckTarget
    from airflow_ddlrepl.engines.duckdb.types.type_system import DuckTypes
    from airflow_ddlrepl.engines.loading import LoadedChunk, LoadTask
    from airflow_ddlrepl.engines.source import Source
    from airflow_ddlrepl.integrate.stage_task import StageTask
    from airflow_ddlrepl.model.table import Table
    from airflow_ddlrepl.ports.change_values import ChangeValues
    from airflow_ddlrepl.ports.positions import Positions


class DuckEngine(Engine):
    """The DuckDB engine does for DuckDB files what `engines.Engine` documents; they are targets only."""

    @property
    def positions(self) -> Positions:
        raise _no_source()

    @property
    def types(self) -> DuckTypes:
        from airflow_ddlrepl.engines.duckdb.types.type_system import DUCK_TYPES

        return DUCK_TYPES

    @property
    def values(self) -> ChangeValues:
        raise _no_source()

    def source(self, channel: Channel, location: str) -> Source:
        raise _no_source()

    def whole_rows_hint(self, table: Table, section: str) -> str:
        raise _no_source()

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

    def compare(self, tasks: Sequence[CompareTask]) -> list[TableReport]:
        from airflow_ddlrepl.engines.duckdb.compare.compare import compare_tables

        return compare_tables(tasks)

    def reusing_sessions(self) -> AbstractContextManager[None]:
        return nullcontext()

    def explained(self, error: BaseException) -> DdlReplError | None:
        from airflow_ddlrepl.engines.duckdb.connection.database import explained

        return explained(error)


def _no_source() -> Unsupported:
    return Unsupported("a DuckDB file is no source", code="ADP-110", hint="name PostgreSQL as the source")


ENGINE: Engine = DuckEngine()
