"""This module connects to PostgreSQL: by psycopg for statements, by ADBC for Arrow.

It is the only place that imports drivers. A failure becomes an error with a hint; a password never shows.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from airflow_ddlrepl.engines.postgres.connection import pool
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import literal
from airflow_ddlrepl.engines.postgres.connection.settings import (
    ARROWS_ENCODING,
    NO_TIMEOUTS,
    SAFE_PATH,
    SESSION,
    TIMEOUTS,
)
from airflow_ddlrepl.errors import ConfigError, Unreachable

CONNECT_SECONDS = 8
"""A server has this long to answer where the location's URL says nothing else (`connect_timeout`)."""

# Else a run waits for hours for a server that is gone without a word; what the location's URL says comes first.
_KEEPALIVE = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}
# Where nothing else is said: somebody's schema change that is never committed must not stop a run without a word.
LOCK_TIMEOUT = "30s"
# Else the driver reads every column of every table when it connects: half a second where there are 2,000.
_BUILT_IN_TYPES = {"adbc.postgresql.type_resolver_mode": "builtin"}


def connect(dsn: str, *, autocommit: bool = True, application_name: str = "ddlrepl") -> Connection[tuple[Any, ...]]:
    """Open a psycopg connection and return it; `with` closes it.

    Raises Unreachable CON-101 (no answer), CON-102 (login refused), CON-103 (no such database), CON-106 (no connection
    left), CON-107 (no encryption as asked for), ConfigError CFG-122 (not a connection URL).
    """
    import psycopg

    opened: Connection[tuple[Any, ...]] = _connected(psycopg.Connection, dsn, autocommit, application_name)
    return opened


def _connected(kind: Any, dsn: str, autocommit: bool, application_name: str, limit: int | None = None) -> Any:
    """Open a connection of this kind and return it.

    limit: seconds that the server has, whatever the location says.
    """
    import psycopg
    from psycopg.conninfo import make_conninfo

    place, options = describe(dsn), parameters(dsn)
    seconds = limit or int(options.pop("connect_timeout", CONNECT_SECONDS))
    try:
        return kind.connect(
            make_conninfo("", **{**_KEEPALIVE, **options}),
            autocommit=autocommit,
            application_name=application_name,
            connect_timeout=seconds,
            client_encoding="utf8",
        )
    except psycopg.OperationalError as error:
        raise _unreachable(place, str(error)) from None


def session(
    dsn: str, *, autocommit: bool = True, application_name: str = "ddlrepl", limit: int | None = None
) -> Connection[tuple[Any, ...]]:
    """Open a session for our own statements, and return it, as `connect` does a connection.

    In it nobody's function or operator of a built-in's name can take its place.
    Its statements and transactions take as long as they take, and it may be idle in between; it waits for no lock
    longer than LOCK_TIMEOUT. Inside `reusing` it may be one that was closed. limit: seconds that the server has to
    answer, whatever the location says.
    """
    import psycopg

    while (opened := pool.take(dsn)) is not None:
        try:
            _configure(opened, application_name)
            break
        except psycopg.Error:  # it was ended since
            opened.discard()
    else:
        opened = _connected(pool.kind(), dsn, True, "ddlrepl", limit)
        refuse_mixing(opened, dsn, describe(dsn), partial(connect, dsn))
        opened.location = dsn
        opened.prepare_threshold = sys.maxsize  # what asks for it, and nothing else
        _configure(opened, application_name)
    opened.set_autocommit(autocommit)
    return cast("Connection[tuple[Any, ...]]", opened)


def location_of(connection: Connection[Any]) -> str:
    """Return the location that a session was opened for, with its password."""
    return str(getattr(connection, "location"))  # noqa: B009 - only sessions have it


def _configure(connection: Connection[Any], application_name: str) -> None:
    timeouts = TIMEOUTS if connection.info.server_version >= 170000 else TIMEOUTS[:-1]
    named = f"SET application_name = {literal(application_name)}"
    settings = (named, f"SET lock_timeout = '{LOCK_TIMEOUT}'", *(f"SET {name} = 0" for name in timeouts))
    connection.execute("; ".join([SAFE_PATH, *_PINNED, *settings]).encode())


_PINNED = tuple(f"SET {name} = {literal(value).strip()}" for name, value in SESSION.items())


def arrow_connection(dsn: str) -> Any:
    """Open an ADBC (DB-API) connection in autocommit mode and return it; close its cursors before it.

    Errors and names as `session`.
    For columns of built-in types, as our staging tables have them. Its statements take as long as they take, too.
    """
    from adbc_driver_postgresql import dbapi  # type: ignore[import-untyped, unused-ignore]

    place = describe(dsn)
    try:
        opened = _with_safe_settings(dsn)
        with opened.cursor() as cursor:
            cursor.execute(ARROWS_ENCODING)
            cursor.execute(NO_TIMEOUTS)
            cursor.fetchall()
        return opened
    except dbapi.Error as error:
        raise _unreachable(place, str(error)) from None


def _with_safe_settings(dsn: str) -> Any:
    from adbc_driver_postgresql import dbapi

    try:
        return dbapi.connect(_asking_for_them(dsn), _BUILT_IN_TYPES, autocommit=True)
    except dbapi.Error as error:
        if "startup parameter" not in str(error):
            raise
    opened = dbapi.connect(dsn, _BUILT_IN_TYPES, autocommit=True)  # a connection pooler that knows no options
    with opened.cursor() as cursor:
        for command in (SAFE_PATH, *_PINNED):
            cursor.execute(command)
    return opened


def _asking_for_them(dsn: str) -> str:
    from psycopg.conninfo import make_conninfo

    parts = {"connect_timeout": str(CONNECT_SECONDS), **_KEEPALIVE, **parameters(dsn)}
    pinned = "-c search_path=pg_catalog,pg_temp -c array_nulls=on -c standard_conforming_strings=on -c row_security=off"
    options = f"{parts.get('options', '')} {pinned}".strip()
    return make_conninfo("", **{**parts, "options": options})


def describe(dsn: str) -> str:
    """Return `user@host:port/database` of a location, never the password; for messages and logs."""
    parts = parameters(dsn)
    host = parts.get("host") or parts.get("hostaddr") or "localhost"
    return f"{parts.get('user', '')}@{host}:{parts.get('port', '5432')}/{parts.get('dbname', '')}"


def identity(connection: Connection[Any]) -> str:
    """Return a text that identifies the server and the database.

    It stays after a restart, a fail-over or a rename, and is another one after any other change.
    """
    row = connection.execute(
        "SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || oid"
        " FROM pg_database WHERE datname = current_database()"
    ).fetchone()
    assert row is not None
    return str(row[0])


def running(connection: Connection[Any]) -> str:
    """Return a text that identifies the database and the run of the server that answers.

    A server's physical copy has its identity, no run of it.
    """
    row = connection.execute("SELECT extract(epoch FROM pg_postmaster_start_time())::text").fetchone()
    return f"{identity(connection)} since {row[0] if row else ''}"


def parameters(dsn: str) -> dict[str, str]:
    """Return the parts of a connection URL by libpq's names. Raises ConfigError CFG-122 without repeating the URL."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        return {name: str(value) for name, value in conninfo_to_dict(dsn).items() if value is not None}
    except psycopg.ProgrammingError:
        raise ConfigError(
            "the location is not a PostgreSQL connection URL",
            code="CFG-122",
            hint="write postgresql://user:password@host:port/database; percent-encode @ : / in the password",
        ) from None


@dataclass(frozen=True, slots=True)
class _Refused:
    """A refused connection: what a server's text matches, and what that means. retryable: it may pass by itself."""

    text: str
    code: str
    what: str
    hint: str
    retryable: bool = False


_NO_ANSWER = _Refused(
    "",
    "CON-101",
    "does not answer",
    "check that the server is running, host and port, and firewalls",
    retryable=True,
)
_REFUSED = (
    _Refused(
        r"authentication failed|no password supplied|pg_hba.conf|role .* does not exist|is not permitted to log in"
        r"|permission denied for database|does not have (the )?CONNECT privilege",
        "CON-102",
        "refuses the login",
        "check user and password of the location (is it expired?), the role's LOGIN and CONNECT, and the server's"
        " pg_hba.conf",
    ),
    _Refused(r'database ".*" does not exist', "CON-103", "has no such database", "check its name in the location"),
    _Refused(
        r"too many clients|too many connections|connection slots are reserved",
        "CON-106",
        "has no connection left",
        "end idle sessions there, or raise its max_connections, or CONNECTION LIMIT of the role or the database",
        retryable=True,
    ),
    _Refused(
        # That a connection broke in the middle of a handshake passes by itself.
        r"does not support SSL|SSL was required|SSL error: (?!unexpected eof)|requires a valid client certificate"
        r"|(server|root) certificate|certificate file|private key file",
        "CON-107",
        "can't be connected to as sslmode says",
        "check sslmode, sslrootcert, sslcert and sslkey of the location, the server's certificate and its ssl setting",
    ),
    _Refused(
        r"FATAL: +(invalid value for parameter|unrecognized configuration parameter|permission denied to set parameter"
        r"|unsupported startup parameter|parameter .* cannot be (changed|set))",
        "CON-109",
        "refuses a setting that the location asks for",
        "correct or remove it in the location (`options=…`), or where the role or the database has it (ALTER ROLE …"
        " RESET, ALTER DATABASE … RESET)",
    ),
    _Refused(
        r"database system is|not currently accepting connections",
        "CON-101",
        "does not answer",
        "it starts, stops or recovers, or ALLOW_CONNECTIONS of the database is off; run again",
        retryable=True,
    ),
)


def _unreachable(place: str, detail: str) -> Unreachable:
    """Return the error for a connection that can't be had. A failed connection has no code but the server's text."""
    detail = " ".join(detail.split())
    found = next((one for one in _REFUSED if re.search(one.text, detail)), _NO_ANSWER)
    message = f"{place} {found.what}: {detail}"
    return Unreachable(message, code=found.code, hint=found.hint, retryable=found.retryable)


ASK = b"SET application_name = 'ddlrepl'; SELECT pg_catalog.pg_backend_pid()"
"""It sets something: a pooler that keeps a session for whom has changed it mixes none."""

_known: set[str] = set()
"""These are locations of this process whose sessions are their client's alone."""


def refuse_mixing(
    connection: Connection[Any], location: str, place: str, another: Callable[[], Connection[Any]]
) -> None:
    """Raise Unreachable CON-108 where the sessions of a location are not their client's alone.

    A server tells a client the process of its session; a pooler invents one. Then two clients are compared, one of
    which does nothing meanwhile. Each location is asked once. another: opens another session to it.
    """
    if location in _known:
        return
    first = _process(connection)
    if first != connection.info.backend_pid:
        with another() as other:
            is_mixed = _process(other) == first or _process(connection) != first
        if is_mixed:
            connection.close()
            raise Unreachable(
                f"{place} is a connection pooler that gives each transaction another session",
                code="CON-108",
                hint="let the location name the server itself, or a pool whose sessions are their client's alone"
                " (PgBouncer: pool_mode = session)",
            )
    _known.add(location)


def _process(connection: Connection[Any]) -> int:
    cursor = connection.execute(ASK)
    cursor.nextset()
    row = cursor.fetchone()
    assert row is not None
    return int(row[0])
