"""This module finds what the role of a source's location still lacks, each with the SQL that grants it.

`ddlrepl doctor` prints it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.config.sections.policies import DdlCapture
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.postgres.catalog.inspect import listed
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.postgres.log.preconditions import OLDEST_VERSION
from airflow_ddlrepl.engines.postgres.source import helper_schema
from airflow_ddlrepl.model.installation import Problem, ServerProfile
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide

MANY = 10
_AS_SUPERUSER = (
    "-- run `ddlrepl activate --no-refresh` once with a superuser's location, then let it name the reading role again"
)
WITHOUT_SUPERUSER = "where there is none:"

_ROLE_SQL = """
SELECT r.rolname, r.rolsuper, r.rolreplication OR r.rolsuper, r.rolbypassrls OR r.rolsuper, current_database(),
       has_database_privilege(current_database(), 'CREATE'), current_setting('wal_level'),
       current_setting('max_replication_slots')::int - (SELECT count(*) FROM pg_replication_slots), pg_is_in_recovery(),
       current_setting('server_version_num')::int
FROM pg_roles r WHERE r.rolname = current_user
"""
_TABLES_SQL = """
SELECT c.oid::bigint, has_schema_privilege(c.relnamespace, 'USAGE'), has_table_privilege(c.oid, 'SELECT'),
       row_security_active(c.oid), pg_has_role(c.relowner, 'USAGE'), o.rolname, o.rolsuper
FROM pg_class c JOIN pg_roles o ON o.oid = c.relowner WHERE c.oid = ANY (%s::bigint[]::oid[])
"""


@dataclass(frozen=True, slots=True)
class _Role:
    name: str
    is_superuser: bool
    may_replicate: bool
    sees_all_rows: bool
    database: str
    may_create: bool
    wal_level: str
    free_slots: int
    is_standby: bool
    version: int


@dataclass(frozen=True, slots=True)
class _Access:
    name: TableName
    has_schema: bool
    may_select: bool
    sees_some_rows: bool
    is_owner: bool
    owner: str
    has_superuser: bool


def missing_rights(
    connection: Connection[Any], scope: Scope, publication: str, ddl: DdlCapture = DdlCapture.AUTO
) -> list[Problem]:
    """Return what stops this role from reading the source, and before the first activation from activating it."""
    row = connection.execute(_ROLE_SQL).fetchone()
    assert row is not None
    role = _Role(*row)
    client = Client(scope)
    names = {i: n for i, n in listed(connection, Scope()) if decide(client, n, ChangeKind.DML).is_taken}
    access = [_Access(names[i], *rest) for i, *rest in connection.execute(_TABLES_SQL, [list(names)]).fetchall()]
    found = connection.execute("SELECT FROM pg_publication WHERE pubname = %s", [publication]).fetchone()
    problems = _server(role) + _reading(role, access)
    problems += _activating(role, access, ddl) if found is None else _activated(connection, ddl)
    return problems


_DANGERS_SQL = """
SELECT r.rolname, r.rolsuper,
    r.rolbypassrls AND NOT r.rolsuper AND pg_catalog.pg_has_role(r.oid, 'pg_read_all_data', 'USAGE')
        AND pg_catalog.to_regclass('ddlrepl.signature') IS NOT NULL,
    ARRAY(SELECT o.rolname FROM pg_catalog.pg_roles o WHERE NOT r.rolsuper AND o.oid <> r.oid AND o.oid >= 16384
          AND pg_catalog.pg_has_role(r.oid, o.oid, 'MEMBER')
          AND EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relowner = o.oid AND c.relkind IN ('r', 'p'))
          ORDER BY 1)::text[],
    pg_catalog.current_setting('server_encoding')
FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
"""


def dangers(connection: Connection[Any]) -> list[Problem]:
    """Return what works, and should not stay: rights that the role of the source does not need, and SQL_ASCII."""
    row = connection.execute(_DANGERS_SQL).fetchone()
    assert row is not None
    name, is_superuser, reads_key, owners, encoding = row
    found: list[Problem] = []
    if is_superuser:
        what = f"{name} is a superuser: whatever goes wrong while tables are read and captured has all rights"
        fix = "once it is activated, let the location name the reading role of docs/postgresql.md"
        found.append(Problem(what, fix))
    if reads_key:
        what = f"{name} reads all tables and bypasses row level security: it can read the key in ddlrepl.signature"
        found.append(Problem(what, f"REVOKE pg_read_all_data FROM {quote(name)}; and grant the tables one by one"))
    for owner in owners:
        what = f"{name} is a member of {owner}, which owns tables: it may change them"
        found.append(Problem(what, f"REVOKE {quote(owner)} FROM {quote(name)}; unless it has to publish new tables"))
    if encoding == "SQL_ASCII":
        what = "the database's encoding is SQL_ASCII: the server does not check texts, and a target refuses other bytes"
        found.append(Problem(what, "a table with bytes that are no UTF-8 is suspended; correct them at the source"))
    return found


def profile(connection: Connection[Any]) -> ServerProfile:
    """Return the server's version, how it writes its log, and the role of this connection."""
    row = connection.execute(_ROLE_SQL).fetchone()
    assert row is not None
    role = _Role(*row)
    version = str(connection.info.parameter_status("server_version") or "").partition(" ")[0]
    return ServerProfile(f"PostgreSQL {version}", f"wal_level {role.wal_level}", role.name, role.is_superuser)


def _server(role: _Role) -> list[Problem]:
    problems: list[Problem] = []
    if role.version < OLDEST_VERSION:
        problems.append(Problem("the server is too old", "-- the source must be version 15 or newer"))
    if role.is_standby:
        problems.append(Problem("the source is a standby", "-- change the location to the primary server"))
    if role.wal_level != "logical":
        problems.append(
            Problem(
                f"wal_level is {role.wal_level}: the log does not have the rows",
                "ALTER SYSTEM SET wal_level = 'logical'; -- and restart the server",
            )
        )
    if role.free_slots < 1:
        problems.append(
            Problem("no replication slot is free", "ALTER SYSTEM SET max_replication_slots = 20; -- and restart")
        )
    if not role.may_replicate:
        problems.append(Problem(f"{role.name} may not use slots", f"ALTER ROLE {quote(role.name)} REPLICATION;"))
    return problems


def _reading(role: _Role, access: list[_Access]) -> list[Problem]:
    problems: list[Problem] = []
    unreadable = [a for a in access if not (a.has_schema and a.may_select)]
    if len(unreadable) > MANY:
        problems.append(
            Problem(
                f"{role.name} may not read {len(unreadable)} tables, {unreadable[0].name} among them",
                f"GRANT pg_read_all_data TO {quote(role.name)};",
            )
        )
    else:
        for schema in sorted({a.name.schema for a in unreadable if not a.has_schema}):
            what = f"{role.name} may not use schema {schema}"
            problems.append(Problem(what, f"GRANT USAGE ON SCHEMA {quote(schema)} TO {quote(role.name)};"))
        for table in (a.name for a in unreadable if not a.may_select):
            what = f"{role.name} may not read {table}"
            problems.append(Problem(what, f"GRANT SELECT ON {qualified(table)} TO {quote(role.name)};"))
    hidden = [a.name for a in access if a.sees_some_rows]
    if hidden and not role.sees_all_rows:
        what = f"row level security hides rows of {', '.join(map(str, hidden[:MANY]))} from {role.name}"
        problems.append(Problem(what, f"ALTER ROLE {quote(role.name)} BYPASSRLS;"))
    return problems


def _activating(role: _Role, access: list[_Access], ddl: DdlCapture) -> list[Problem]:
    if role.is_superuser:
        return []
    problems: list[Problem] = []
    if ddl is DdlCapture.TRIGGERS:
        problems.append(Problem("event triggers need a superuser", _AS_SUPERUSER))
    if not role.may_create:
        what = f"{role.name} may not create the publication"
        problems.append(Problem(what, f"GRANT CREATE ON DATABASE {quote(role.database)} TO {quote(role.name)};"))
    for owner, is_superuser in sorted({(a.owner, a.has_superuser) for a in access if not a.is_owner}):
        # No hint decides it for anybody, and a member of a superuser's role would have all its rights.
        grant = "" if is_superuser else f"; {WITHOUT_SUPERUSER} GRANT {quote(owner)} TO {quote(role.name)};"
        problems.append(Problem(f"{role.name} can't publish tables of {owner}", f"{_AS_SUPERUSER}{grant}"))
    return problems


def _activated(connection: Connection[Any], ddl: DdlCapture) -> list[Problem]:
    now = helper_schema.find_helper(connection)
    if ddl is DdlCapture.TRIGGERS and not now.has_triggers:
        return [
            Problem(
                "event triggers are missing or disabled",
                "-- as a superuser: ddlrepl activate --no-refresh installs them again",
            )
        ]
    if now.is_there and not now.is_current:
        return [Problem("the helper schema has another version", "-- run `ddlrepl activate` as its owner")]
    return []
