"""This module is PostgreSQL as an engine: it opens sources and targets, and imports each part when it is needed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from airflow_ddlrepl.engines import Compares, FindsDiffering, SourceEngine, TargetEngine
from airflow_ddlrepl.engines.abilities.lcr_target import TakesLcrs
from airflow_ddlrepl.errors import DdlReplError

if TYPE_CHECKING:
    from airflow_ddlrepl.compare.report import TableReport
    from airflow_ddlrepl.config.sections.channel import Channel
    from airflow_ddlrepl.engines.comparing import CompareTask, WrittenKeys
    from airflow_ddlrepl.engines.differing import Differing, DifferingTask
    from airflow_ddlrepl.engines.loading import FinishTask, LoadedChunk, LoadTask
    from airflow_ddlrepl.engines.postgres.apply_lcrs.target import PostgresLcrTarget
    from airflow_ddlrepl.engines.postgres.merge.stage import PostgresStager
    from airflow_ddlrepl.engines.postgres.pgoutput.xid_snapshot import XidSnapshot
    from airflow_ddlrepl.engines.postgres.source.source import PostgresSource
    from airflow_ddlrepl.engines.postgres.target_port import PostgresTarget
    from airflow_ddlrepl.engines.postgres.types.arrow_values import PostgresValues
    from airflow_ddlrepl.engines.postgres.types.type_system import PostgresTypes
    from airflow_ddlrepl.integrate.stage_task import StageTask
    from airflow_ddlrepl.model.names import TableName
    from airflow_ddlrepl.model.table import Table
    from airflow_ddlrepl.model.visibility import Stored

PORT = 5432


class PostgresEngine(SourceEngine, TargetEngine, Compares, FindsDiffering, TakesLcrs):
    """The PostgreSQL engine opens PostgreSQL databases as sources and as targets, with all abilities."""

    @property
    def drivers(self) -> dict[str, str]:
        return {
            "psycopg": "psycopg",
            "adbc_driver_postgresql": "adbc-driver-postgresql",
            "adbc_driver_manager": "adbc-driver-manager",
        }

    @property
    def extra(self) -> str:
        return "postgres"

    def datasets(self, location: str, table: TableName) -> list[tuple[str, str]]:
        parts = urlsplit(location)
        host, port = parts.hostname or "localhost", parts.port or PORT
        return [(f"postgres://{host}:{port}", f"{parts.path.lstrip('/')}.{table.schema}.{table.name}")]

    @property
    def imported_beforehand(self) -> tuple[str, ...]:
        ours = "airflow_ddlrepl.engines.postgres"
        return (
            f"{ours}.compare.digest",
            f"{ours}.load.load_chunk",
            f"{ours}.load.loader",
            f"{ours}.log.read_range",
            f"{ours}.log.read_window",
            f"{ours}.merge.stage",
            f"{ours}.source.exported_snapshot",
            f"{ours}.source.source",
            f"{ours}.target.apply",
            f"{ours}.target_port",
            "adbc_driver_postgresql.dbapi",
            "psycopg",
        )

    @property
    def types(self) -> PostgresTypes:
        from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES

        return POSTGRES_TYPES

    @property
    def values(self) -> PostgresValues:
        from airflow_ddlrepl.engines.postgres.types.arrow_values import POSTGRES_VALUES

        return POSTGRES_VALUES

    def snapshot(self, stored: Stored) -> XidSnapshot | None:
        from airflow_ddlrepl.engines.postgres.pgoutput.xid_snapshot import stored_snapshot

        return stored_snapshot(stored)

    def source(self, channel: Channel, location: str) -> PostgresSource:
        from airflow_ddlrepl.engines.postgres.source.source import PostgresSource

        return PostgresSource.of(channel, location)

    def target(self, channel: Channel, name: str, location: str, seconds: int | None = None) -> PostgresTarget:
        from airflow_ddlrepl.engines.postgres.target_port import PostgresTarget

        place = channel.place(name)
        return PostgresTarget.open(location, channel.holder(name), place.lock_timeout, seconds, place.trusted_owners)

    def lcr_target(
        self, location: str, holder: str, lock_timeout: float, owners: tuple[str, ...] = ()
    ) -> PostgresLcrTarget:
        from airflow_ddlrepl.engines.postgres.apply_lcrs.target import PostgresLcrTarget

        return PostgresLcrTarget.open(location, holder, lock_timeout, owners)

    def whole_rows_hint(self, table: Table, section: str) -> str:
        from airflow_ddlrepl.engines.postgres.connection.conditions import whole_rows_hint

        return whole_rows_hint(table, section)

    def target_rights(self, location: str, schemas: Collection[str] = ()) -> tuple[str, str]:
        from airflow_ddlrepl.engines.postgres.catalog.target_rights import target_rights

        return target_rights(location, schemas)

    def stager(self, task: StageTask) -> PostgresStager:
        from airflow_ddlrepl.engines.postgres.merge.stage import PostgresStager

        return PostgresStager(task)

    def load(self, tasks: Sequence[LoadTask]) -> list[LoadedChunk]:
        from airflow_ddlrepl.engines.postgres.load.load_chunk import load_chunks

        return load_chunks(tasks)

    def finish_shadow(self, task: FinishTask) -> LoadedChunk:
        from airflow_ddlrepl.engines.postgres.load.swap import finish_shadow

        return finish_shadow(task)

    def compare(self, tasks: Sequence[CompareTask]) -> list[TableReport]:
        from airflow_ddlrepl.engines.postgres.compare.digest import compare_tables

        return compare_tables(tasks)

    def written_keys(self, task: WrittenKeys) -> dict[str, bool] | None:
        from airflow_ddlrepl.engines.postgres.compare.written_keys import written_keys

        return written_keys(task)

    def find_differing(self, task: DifferingTask) -> Differing | None:
        from airflow_ddlrepl.engines.postgres.load.differing_ranges import find_differing

        return find_differing(task)

    def load_mark(self, task: DifferingTask) -> str:
        from airflow_ddlrepl.engines.postgres.load.rows_since_load import load_mark

        return load_mark(task)

    def reusing_sessions(self) -> AbstractContextManager[None]:
        from airflow_ddlrepl.engines.postgres.connection.pool import reusing

        return reusing()

    def explained(self, error: BaseException) -> DdlReplError | None:
        from airflow_ddlrepl.engines.postgres.connection.errors import explained

        return explained(error)


ENGINE = PostgresEngine()
