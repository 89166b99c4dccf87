"""This module is a lake of Iceberg tables as an engine: it opens targets, and imports each part when it is needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines import Compares, TargetEngine
from airflow_ddlrepl.engines.abilities.maintenance import Maintained, NeedsMaintenance, Thresholds
from airflow_ddlrepl.errors import DdlReplError

if TYPE_CHECKING:
    from airflow_ddlrepl.compare.report import TableReport
    from airflow_ddlrepl.config.sections.channel import Channel
    from airflow_ddlrepl.engines.comparing import CompareTask, WrittenKeys
    from airflow_ddlrepl.engines.lake.merge.stage import LakeStager
    from airflow_ddlrepl.engines.lake.target_port import LakeTarget
    from airflow_ddlrepl.engines.lake.types.type_system import LakeTypes
    from airflow_ddlrepl.engines.loading import FinishTask, LoadedChunk, LoadTask
    from airflow_ddlrepl.engines.target import Target
    from airflow_ddlrepl.engines.target_state import Fence
    from airflow_ddlrepl.integrate.stage_task import StageTask
    from airflow_ddlrepl.model.names import TableName


class LakeEngine(TargetEngine, NeedsMaintenance, Compares):
    """The lake engine opens Iceberg catalogs as targets."""

    @property
    def drivers(self) -> dict[str, str]:
        return {"pyiceberg": "pyiceberg", "duckdb": "duckdb"}

    @property
    def extra(self) -> str:
        return "iceberg"

    @property
    def types(self) -> LakeTypes:
        from airflow_ddlrepl.engines.lake.types.type_system import LAKE_TYPES

        return LAKE_TYPES

    def fetched(self, locations: Sequence[str]) -> tuple[str, str]:
        from airflow_ddlrepl.engines.lake.connection.jars import jar_folder
        from airflow_ddlrepl.engines.lake.connection.session import session_properties

        for location in locations:
            session_properties(location)
        return "Iceberg's jars", str(jar_folder())

    def spark_properties(self, location: str) -> Mapping[str, str]:
        from airflow_ddlrepl.engines.lake.connection.session import session_properties

        return session_properties(location)

    def warm_up(self, folder: str) -> None:
        from airflow_ddlrepl.engines.lake.merge.warm_up import warm_up

        warm_up(folder)

    def datasets(self, location: str, table: TableName) -> list[tuple[str, str]]:
        from airflow_ddlrepl.engines.lake.catalog.datasets import datasets

        return datasets(location, table)

    def target(self, channel: Channel, name: str, location: str, seconds: int | None = None) -> LakeTarget:
        from airflow_ddlrepl.engines.lake.target_port import LakeTarget

        return LakeTarget(location, channel.holder(name), seconds, channel.place(name).arrangement_of)

    def target_rights(self, location: str, schemas: Collection[str] = ()) -> tuple[str, str]:
        from airflow_ddlrepl.engines.lake.connection.database import writing
        from airflow_ddlrepl.engines.lake.connection.location import location_of
        from airflow_ddlrepl.engines.lake.connection.warehouse import require_writable

        place = location_of(location)
        with writing(location):
            require_writable(place)
        if place.rest:
            from airflow_ddlrepl.engines.lake.rest.client import RestClient

            RestClient(place.rest).require_able()
        how = ""
        if place.single:
            from airflow_ddlrepl.engines.lake.catalog.piecewise.catalogs import catalog_of

            catalog_of(place, place.single).require_able()
            how = f"; a {place.single.kind} catalog shows the tables of a window one after the other"
        return f"the lake of {place.database} can be opened, and {place.warehouse} written{how}", ""

    def stager(self, task: StageTask) -> LakeStager:
        from airflow_ddlrepl.engines.lake.merge.stage import LakeStager

        return LakeStager()

    def load(self, tasks: Sequence[LoadTask]) -> list[LoadedChunk]:
        from airflow_ddlrepl.engines.lake.load.load_chunk import load

        return [load(task) for task in tasks]

    def finish_shadow(self, task: FinishTask) -> LoadedChunk:
        from airflow_ddlrepl.engines.lake.load.load_chunk import finish_shadow

        return finish_shadow(task)

    def compare(self, tasks: Sequence[CompareTask]) -> list[TableReport]:
        from airflow_ddlrepl.engines.lake.compare.compare import compare_tables

        return compare_tables(tasks)

    def written_keys(self, task: WrittenKeys) -> dict[str, bool] | None:
        from airflow_ddlrepl.engines.duckdb_sql.written_keys import written_keys
        from airflow_ddlrepl.engines.lake.types.in_duckdb import duckdb_type

        return written_keys(task, duckdb_type)

    def maintain(self, target: Target, table: TableName, thresholds: Thresholds, fence: Fence) -> Maintained:
        from airflow_ddlrepl.engines.lake.maintenance.maintain import maintain
        from airflow_ddlrepl.engines.lake.target_port import LakeTarget

        assert isinstance(target, LakeTarget)
        return maintain(target, table, thresholds, fence)

    def explained(self, error: BaseException) -> DdlReplError | None:
        from airflow_ddlrepl.engines.lake.connection.errors import explained

        return explained(error)


ENGINE = LakeEngine()
