"""This module brings the repository's tables to this version's shape, one process at a time."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.schema import CreateSchema

from airflow_ddlrepl.errors import RepositoryError
from airflow_ddlrepl.repository.database import Database
from airflow_ddlrepl.repository.tables import HEAD, SCHEMA

_ADVISORY_LOCK = 0x6464_6C72_6570_6C01  # "ddlrepl" and 1


def upgrade(database: Database) -> None:
    """Create or migrate the tables; raise RepositoryError REP-101 when a newer version has written them."""
    with database.read() as connection:
        if _version(database, connection) == HEAD:
            return
    with database.write() as connection:
        if not database.is_sqlite:
            connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
            if not inspect(connection).has_schema(SCHEMA):
                connection.execute(CreateSchema(SCHEMA))
        if _version(database, connection) != HEAD:
            _migrate(database, connection)


def _version(database: Database, connection: Connection) -> str | None:
    schema = None if database.is_sqlite else SCHEMA
    if not inspect(connection).has_table("alembic_version", schema=schema):
        return None
    place = "alembic_version" if schema is None else f"{schema}.alembic_version"
    found: str | None = connection.execute(text(f"select version_num from {place}")).scalar()
    return found


def _migrate(database: Database, connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    version = _version(database, connection)
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if version is not None and version not in known:
        raise RepositoryError(
            f"repository {database.shown} was written by a newer version (its tables are at {version}, ours at {HEAD})",
            code="REP-101",
            hint="install that version of airflow-ddlrepl here too, or point `repository` elsewhere",
        )
    command.upgrade(config, HEAD)
