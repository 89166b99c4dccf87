"""Take Airflow's own metadata database through its real Alembic revisions: it is the demo's source.

    isolate(folder)                     # before anything imports airflow
    with AirflowDatabase(dsn) as database:
        for revision in database.revisions:
            database.upgrade(revision)

The revisions are those that ship in the installed apache-airflow package. They run in this process on one
connection (all of them take seconds); Airflow itself keeps a private SQLite database in `folder`.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import create_engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine.interfaces import BindTyping

from airflow_ddlrepl.errors import ConfigError

if TYPE_CHECKING:
    from alembic.config import Config


class UntypedParameters(PGDialect_psycopg):
    """This SQLAlchemy dialect sends parameters as plain literals, as psycopg2 does.

    Some of Airflow's revisions rely on the server to guess a parameter's type (revision 0017 writes '0' into an integer
    column).
    """

    bind_typing = BindTyping.NONE
    supports_statement_cache = True


registry.register("postgresql.untyped", __name__, "UntypedParameters")


def isolate(folder: Path) -> None:
    """Give this process an Airflow of its own in `folder`; nothing of the user's Airflow is read or written.

    Raises ConfigError DEM-105 when airflow is already imported with another home.
    """
    home = folder / "airflow"
    if "airflow" in sys.modules and os.environ.get("AIRFLOW_HOME") != str(home):
        raise ConfigError("airflow is already imported", code="DEM-105", hint="call isolate() first in a fresh process")
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in [name for name in os.environ if name.startswith("AIRFLOW_")]:
        del os.environ[name]
    os.environ.update(
        AIRFLOW_HOME=str(home),
        AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=f"sqlite:///{home / 'airflow.db'}",
        AIRFLOW__CORE__LOAD_EXAMPLES="False",
        AIRFLOW__CORE__DAGS_FOLDER=str(home / "dags"),
        AIRFLOW__LOGGING__BASE_LOG_FOLDER=str(home / "logs"),
        AIRFLOW__LOGGING__LOGGING_LEVEL="WARNING",
    )


class AirflowDatabase:
    """This PostgreSQL database goes through Airflow's revisions.

    dsn: a libpq URL; the database may be empty or at any revision.
    """

    def __init__(self, dsn: str) -> None:
        from psycopg import ClientCursor

        self._config = _alembic_config()
        self.revisions = _revisions(self._config)
        url = "postgresql+untyped" + dsn[dsn.index("://") :]
        self._engine = create_engine(url, connect_args={"cursor_factory": ClientCursor})
        self._connection = self._engine.connect()
        self._config.attributes["connection"] = self._connection
        self.done: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()
        self._engine.dispose()

    def upgrade(self, revision: str) -> None:
        """Run every revision up to and including this one, each in its own transaction; add them to `done`."""
        from alembic import command

        before = self.current()
        with _quiet():
            command.upgrade(self._config, revision)
        after = self.current()
        start = 0 if before is None else self.revisions.index(before) + 1
        end = 0 if after is None else self.revisions.index(after) + 1
        self.done.extend(self.revisions[start:end])

    def current(self) -> str | None:
        """Return the database's revision, None before the first."""
        from alembic.runtime.migration import MigrationContext

        revision: str | None = MigrationContext.configure(self._connection).get_current_revision()
        self._connection.rollback()
        return revision


def _alembic_config() -> Config:
    import airflow
    from alembic.config import Config

    package = Path(airflow.__file__).parent
    config = Config(str(package / "alembic.ini"))
    config.set_main_option("script_location", str(package / "migrations").replace("%", "%%"))
    return config


def _revisions(config: Config) -> tuple[str, ...]:
    """Return every revision that ships, from the first to the head."""
    from alembic.script import ScriptDirectory

    script = ScriptDirectory.from_config(config)
    return tuple(reversed([revision.revision for revision in script.walk_revisions()]))


@contextlib.contextmanager
def _quiet() -> Any:
    """Suppress what the revisions print and log; errors are raised, not printed."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(before)
