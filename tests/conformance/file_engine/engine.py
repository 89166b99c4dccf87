"""Files as an engine."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from airflow_ddlrepl.compare.report import TableReport
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.engines import Engine
from airflow_ddlrepl.engines.comparing import CompareTask
from airflow_ddlrepl.engines.loading import LoadedChunk, LoadTask
from airflow_ddlrepl.engines.source import Source
from airflow_ddlrepl.errors import DdlReplError, Unsupported
from airflow_ddlrepl.integrate.stage_task import StageTask
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.ports.positions import Positions
from airflow_ddlrepl.ports.types import TypeSystem
from tests.conformance.file_engine.loading import compare, load
from tests.conformance.file_engine.rows import FileStager
from tests.conformance.file_engine.target import FileTarget, folder
from tests.conformance.file_engine.types import FileTypes


class FileEngine(Engine):
    """Targets only."""

    @property
    def positions(self) -> Positions:
        raise _no_source()

    def source(self, channel: Channel, location: str) -> Source:
        raise _no_source()

    @property
    def types(self) -> TypeSystem:
        return FileTypes()

    @property
    def values(self) -> ChangeValues:
        raise _no_source()

    def whole_rows_hint(self, table: Table, section: str) -> str:
        raise _no_source()

    def target(self, channel: Channel, name: str, location: str, seconds: int | None = None) -> FileTarget:
        return FileTarget(location, channel.holder(name))

    def target_rights(self, location: str, schemas: Collection[str] = ()) -> tuple[str, str]:
        return f"{folder(location)} is there", ""

    def stager(self, task: StageTask) -> FileStager:
        return FileStager()

    def load(self, tasks: Sequence[LoadTask]) -> list[LoadedChunk]:
        return [load(task) for task in tasks]

    def compare(self, tasks: Sequence[CompareTask]) -> list[TableReport]:
        return [compare(task) for task in tasks]

    def reusing_sessions(self) -> AbstractContextManager[None]:
        return nullcontext()

    def explained(self, error: BaseException) -> DdlReplError | None:
        return None


def _no_source() -> Unsupported:
    return Unsupported("files are no source", code="ADP-110", hint="name PostgreSQL as the source")


ENGINE: Any = FileEngine()
