"""PostgreSQL as an engine: what opens a source or a target, each part imported when it is asked for."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines import Engine
from airflow_ddlrepl.errors import DdlReplError

if TYPE_CHECKING:
    from airflow_ddlrepl.config.sections.channel import Channel
    from airflow_ddlrepl.engines.postgres.source.source import PostgresSource
    from airflow_ddlrepl.engines.postgres.target_port import PostgresTarget


class PostgresEngine:
    """What the stages may ask of PostgreSQL, as `engines.Engine` says."""

    def source(self, channel: Channel, location: str) -> PostgresSource:
        from airflow_ddlrepl.engines.postgres.source.source import PostgresSource

        return PostgresSource.of(channel, location)

    def target(self, channel: Channel, name: str, location: str, seconds: int | None = None) -> PostgresTarget:
        from airflow_ddlrepl.engines.postgres.target_port import PostgresTarget

        return PostgresTarget.open(location, channel.holder(name), channel.target(name).lock_timeout, seconds)

    def reusing_sessions(self) -> AbstractContextManager[None]:
        from airflow_ddlrepl.engines.postgres.connection.pool import reusing

        return reusing()

    def explained(self, error: BaseException) -> DdlReplError | None:
        from airflow_ddlrepl.engines.postgres.connection.errors import explained

        return explained(error)


ENGINE: Engine = PostgresEngine()
