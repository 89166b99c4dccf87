"""This module brings the repository's tables to this version's shape, one process at a time."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateSchema

from airflow_ddlrepl.errors import RepositoryError
from airflow_ddlrepl.repository.database import Database
from airflow_ddlrepl.repository.stored.tables import HEAD, SCHEMA

PATIENCE_SECONDS = 60
_LOCK_NOT_AVAILABLE = "55P03"
_ADVISORY_LOCK = 0x6464_6C72_6570_6C01  # "ddlrepl" and 1

# A superuser trusts superusers; others also a role whose rights they have anyway.
_OWNERS = text("""
WITH owners(place, owner) AS (
    SELECT 'schema ' || n.nspname, n.nspowner FROM pg_catalog.pg_namespace n WHERE n.nspname = :schema
    UNION ALL
    SELECT 'relation ' || c.relname, c.relowner FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :schema
    UNION ALL
    SELECT 'function ' || p.proname, p.proowner FROM pg_catalog.pg_proc p
    JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = :schema
    UNION ALL
    SELECT 'function ' || p.proname || ' of trigger ' || t.tgname, p.proowner FROM pg_catalog.pg_trigger t
    JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid WHERE n.nspname = :schema AND NOT t.tgisinternal
)
SELECT o.place, r.rolname, me.rolname
FROM owners o JOIN pg_catalog.pg_roles r ON r.oid = o.owner
CROSS JOIN (SELECT rolname, rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) me
WHERE NOT r.rolsuper AND r.rolname <> me.rolname
  AND (me.rolsuper OR NOT pg_catalog.pg_has_role(me.rolname, r.oid, 'USAGE'))
ORDER BY o.place LIMIT 1
""")


def upgrade(database: Database) -> None:
    """Create or migrate the tables; raise RepositoryError REP-101 when a newer version has written them.

    Raises REP-120 when something in the repository's schema belongs to a stranger, REP-122 when one blocks it.
    """
    with database.read() as connection:
        if not database.is_sqlite:
            _require_trusted(connection, database.shown)
        if _version(database, connection) == HEAD:
            return
    with database.write() as connection:
        if not database.is_sqlite:
            _wait_for_others(database, connection)
            if not inspect(connection).has_schema(SCHEMA):
                connection.execute(CreateSchema(SCHEMA))
        if _version(database, connection) != HEAD:
            _migrate(database, connection)


def _wait_for_others(database: Database, connection: Connection) -> None:
    """Let one process migrate at a time. Raises RepositoryError REP-122 when another session keeps the lock."""
    connection.execute(text(f"set local lock_timeout = '{PATIENCE_SECONDS}s'"))
    try:
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", "") != _LOCK_NOT_AVAILABLE:
            raise
        raise RepositoryError(
            f"repository {database.shown} can't be set up: another session has held its advisory lock"
            f" {_ADVISORY_LOCK} for {PATIENCE_SECONDS} s",
            code="REP-122",
            hint="SELECT pid, usename FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory'"
            " shows whose it is: wait for it, or end it",
            retryable=True,
        ) from None
    connection.execute(text("set local lock_timeout = 0"))


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


def _require_trusted(connection: Connection, shown: str) -> None:
    """Raise RepositoryError REP-120 when the schema, or something in it, belongs to a lesser role.

    Whoever owns the schema, a table or a function in it could have their own code run with the rights of the
    repository's user: by a trigger, a rule or a default. A file of SQLite has no such code.
    shown: the repository's location, as errors show it.
    """
    row = connection.execute(_OWNERS, {"schema": SCHEMA}).first()
    if row is None:
        return
    place, owner, user = row
    raise RepositoryError(
        f"repository {shown}: {place} of {SCHEMA} belongs to {owner}, whose code could run with the rights of {user}",
        code="REP-120",
        hint=f'look what {owner} has made there; then, if it is the repository, ALTER SCHEMA {SCHEMA} OWNER TO "{user}"'
        " and its tables likewise, or DROP SCHEMA and activate again; or use a database of its own",
    )
