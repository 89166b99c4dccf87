"""This module installs, checks and removes the helper schema `ddlrepl` in the source database."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from airflow_ddlrepl.config.sections.policies import DdlCapture
from airflow_ddlrepl.engines.postgres.catalog.inspect import SHAPE_BODY
from airflow_ddlrepl.engines.postgres.catalog.installed import differences, installed, list_installed, mark_of
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SHAPES
from airflow_ddlrepl.engines.postgres.owners.schema_owner import require_trusted
from airflow_ddlrepl.engines.postgres.source.member_cause import CAUSE, NOT_UTF8
from airflow_ddlrepl.errors import SourceError

FOLDER = Path(__file__).parent
_MARK_SQL = """
SELECT obj_description(n.oid, 'pg_namespace'), pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND (
           SELECT bool_and(has_table_privilege(c.oid, 'SELECT')) FROM pg_class c
           WHERE c.relnamespace = n.oid AND c.relname IN ('channel', 'member')),
       (SELECT count(*) FROM pg_event_trigger e WHERE e.evtname LIKE 'ddlrepl\\_%' AND e.evtenabled = 'A')
FROM pg_namespace n WHERE n.nspname = 'ddlrepl'
"""
_ACTIVE_TRIGGERS = """
SELECT e.evtname FROM pg_event_trigger e, pg_roles r
WHERE e.evtname LIKE 'ddlrepl\\_%' AND e.evtenabled = 'A' AND r.rolname = current_user AND r.rolsuper
"""
EVENT_TRIGGERS = 5
VERSION = 2
"""The version of the helper schema: it grows when an older version of the product must not replace it."""

_VERSION = re.compile(r"airflow-ddlrepl helper v(\d+) ")
READING_RIGHTS = "reading_rights.sql"
"""What the other files take from everybody is given again here: it comes behind them."""
_HELPER_FILES = (
    "statement_state.sql",
    "readable_texts.sql",
    "helper_schema.sql",
    "session_triggers.sql",
    "tending.sql",
    "reading.sql",
    "messages.sql",
    "marks.sql",
    READING_RIGHTS,
)
_TRIGGER_FILES = (
    "set_unlogged.sql",
    "publication_changes.sql",
    "statement_text.sql",
    "dropped_indexes.sql",
    "statement_begins.sql",
    "affected.sql",
    "event_triggers.sql",
    READING_RIGHTS,
    "make_triggers.sql",
)
TABLES = ("channel", "member", "signature", "fence", "message", "state_number", "session_number", "mark")


@dataclass(frozen=True, slots=True)
class Helper:
    """This value says what is installed in the database.

    Is the schema there, of this version, readable; do the event triggers fire?
    """

    is_there: bool
    is_current: bool = False
    is_readable: bool = False
    has_triggers: bool = False


_looked: WeakKeyDictionary[Connection[Any], list[Helper]] = WeakKeyDictionary()


@contextmanager
def looked_at_once(connection: Connection[Any]) -> Iterator[None]:
    """Within this context `present` looks once; the second time it returns what it has found."""
    _looked[connection] = []
    try:
        yield
    finally:
        _looked.pop(connection, None)


def find_helper(connection: Connection[Any]) -> Helper:
    """Return what is installed now.

    Raises SourceError SRC-121 when it belongs to a role that we can't trust, SRC-132 when it is a newer version's.
    """
    if not (known := _looked.get(connection, [])):
        known.append(_inspect(connection))
    return known[0]


def _inspect(connection: Connection[Any]) -> Helper:
    row = connection.execute(_MARK_SQL).fetchone()
    if row is None:
        return Helper(False)
    require_trusted(connection, TABLES, SourceError, "SRC-121")
    mark, readable, triggers = row
    _require_not_newer(mark)
    return Helper(True, mark_of(mark) == _mark(), bool(readable), triggers == EVENT_TRIGGERS)


def known_publication(connection: Connection[Any], channel: str) -> int | None:
    """Return the id of the publication that the channel was activated with; None where nothing here knows it."""
    if not find_helper(connection).is_readable:
        return None
    row = connection.execute("SELECT publication_id FROM ddlrepl.channel WHERE name = %s", [channel]).fetchone()
    return row[0] if row else None


def install(connection: Connection[Any], ddl: DdlCapture) -> list[str]:
    """Create or renew what is missing of the helper schema; return what was done, nothing the second time.

    Raises SourceError SRC-105 when this role may not, SRC-121 when somebody else has made the schema.
    """
    _looked.pop(connection, None)
    now = find_helper(connection)
    wants_triggers = ddl is not DdlCapture.RELATIONS
    done: list[str] = []
    before = installed(connection)
    is_intact = now.is_current and not differences(connection, before)
    if not is_intact:
        try:
            with connection.transaction():
                connection.execute("CREATE SCHEMA IF NOT EXISTS ddlrepl")
                require_trusted(connection, TABLES, SourceError, "SRC-121")
                with _resting_triggers(connection):
                    connection.execute(_helper_sql().encode())
                list_installed(connection, _mark(), before)
        except errors().InsufficientPrivilege as error:
            raise _may_not(connection, error) from None
        done.append("helper schema ddlrepl")
    if wants_triggers and not (is_intact and now.has_triggers):
        try:
            with connection.transaction():
                with _resting_triggers(connection):
                    connection.execute(_triggers_sql().encode())
                list_installed(connection, _mark())
        except errors().InsufficientPrivilege as error:
            if ddl is DdlCapture.TRIGGERS:
                raise _may_not(connection, error) from None
            return done
        done.append("event triggers")
    return done


@contextmanager
def _resting_triggers(connection: Connection[Any]) -> Iterator[None]:
    """Let our event triggers not see what is done inside the `with`, in one transaction: it is nobody's schema change.

    For other sessions they go on. Only a superuser may do that; other roles' statements are in the log as anybody's.
    """
    names = [quote(name) for (name,) in connection.execute(_ACTIVE_TRIGGERS.encode())]
    for name in names:
        connection.execute(f"ALTER EVENT TRIGGER {name} DISABLE".encode())
    yield
    for name in names:
        connection.execute(f"ALTER EVENT TRIGGER {name} ENABLE ALWAYS".encode())


def remove(connection: Connection[Any]) -> None:
    """Drop the helper schema and its event triggers."""
    with connection.transaction():
        connection.execute((FOLDER / "drop_helper_schema.sql").read_bytes())


@cache
def _helper_sql() -> str:
    settings = "\n".join(f"SET {name} = {_setting(name, value)}" for name, value in SHAPES.items())
    text = "\n".join((FOLDER / name).read_text() for name in _HELPER_FILES)
    filled = {
        "/*shape_settings*/": settings,
        "/*table_shape*/": SHAPE_BODY,
        "/*cause*/": CAUSE,
        "/*not_utf8*/": NOT_UTF8,
    }
    return reduce(lambda done, one: done.replace(*one), filled.items(), text)


@cache
def _triggers_sql() -> str:
    return "\n".join((FOLDER / name).read_text() for name in _TRIGGER_FILES)


def _setting(name: str, value: str) -> str:
    return value if name == "search_path" else literal(value)


@cache
def _mark() -> str:
    digest = hashlib.sha256((_helper_sql() + _triggers_sql()).encode()).hexdigest()
    return f"airflow-ddlrepl helper v{VERSION} {digest[:12]}"


def _require_not_newer(mark: str | None) -> None:
    """Raise SourceError SRC-132 where a newer version of the product has made the schema. mark: its comment."""
    found = _VERSION.match(mark or "")
    if found and int(found[1]) > VERSION:
        raise SourceError(
            f"the helper schema at the source is of a newer version (it is at {found[1]}, ours at {VERSION})",
            code="SRC-132",
            hint="install that version of airflow-ddlrepl here, too",
        )


def _may_not(connection: Connection[Any], error: Exception) -> SourceError:
    row = connection.execute("SELECT current_user, quote_ident(current_database())").fetchone()
    assert row is not None
    user, database = row
    return SourceError(
        f"{user} may not prepare the source: {str(error).splitlines()[0]}",
        code="SRC-105",
        hint="run `ddlrepl activate --no-refresh` once as a superuser (event triggers need one), or GRANT CREATE ON"
        f" DATABASE {database} and set `ddl: relations`; docs/postgresql.md shows what the role needs afterwards",
    )
