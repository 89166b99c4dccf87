"""Files as an engine."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.compare.report import TableReport
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines import Compares, SourceEngine, TargetEngine
from airflow_ddlrepl.engines.comparing import CompareTask
from airflow_ddlrepl.engines.loading import LoadedChunk, LoadTask
from airflow_ddlrepl.integrate.stage_task import StageTask
from airflow_ddlrepl.ports.types import TypeSystem
from tests.conformance.file_engine.loading import compare, load
from tests.conformance.file_engine.rows import FileStager
from tests.conformance.file_engine.source import FilePositions, FileSource
from tests.conformance.file_engine.target import FileTarget
from tests.conformance.file_engine.types import FileTypes


class FileEngine(SourceEngine, TargetEngine, Compares):
    """Sources have no ids of tables and columns."""

    @property
    def types(self) -> TypeSystem:
        return FileTypes()

    @property
    def positions(self) -> FilePositions:
        return FilePositions()

    def source(self, channel: Channel, location: str) -> FileSource:
        return FileSource(location, Scope.of(channel))

    def target(self, channel: Channel, name: str, location: str, seconds: int | None = None) -> FileTarget:
        return FileTarget(location, channel.holder(name))

    def stager(self, task: StageTask) -> FileStager:
        return FileStager()

    def load(self, tasks: Sequence[LoadTask]) -> list[LoadedChunk]:
        return [load(task) for task in tasks]

    def compare(self, tasks: Sequence[CompareTask]) -> list[TableReport]:
        return [compare(task) for task in tasks]


ENGINE = FileEngine()
