"""This module finds the role that runs a statement with code at a target: one of the object's schema, no superuser."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.ddl.sql.statement_code import Code
from airflow_ddlrepl.engines.abilities.lcr_target import RunAs
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import quote
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.streams.messages import DdlLcr

OF_OBJECTS = frozenset((Code.FUNCTION, Code.VIEW, Code.TYPE, Code.OPERATOR, Code.CAST))
"""Kinds whose objects have an owner with whose rights they work. The others are about a table: its owner does them."""
BACK = "SET LOCAL ROLE NONE"
_SCHEMA = """
SELECT r.rolname, r.rolsuper, pg_catalog.pg_has_role(current_user, r.oid, 'MEMBER'), r.rolname = current_user
FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner WHERE n.nspname = %s
"""
_TABLE = """
SELECT r.rolname, r.rolsuper, pg_catalog.pg_has_role(current_user, r.oid, 'MEMBER'), r.rolname = current_user
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_roles r ON r.oid = c.relowner WHERE n.nspname = %s AND c.relname = %s
"""


def role_of(connection: Connection[Any], lcr: DdlLcr, run_as: RunAs | None) -> str | None:
    """Return the statement that sets the role for an LCR; None: the session's role runs it.

    Raises ApplyError APL-116 where the object's schema has no role that may run it.
    """
    if run_as is None or not run_as.kinds - {Code.EXPRESSION}:
        return None
    schema = lcr.base_owner or lcr.owner or ""
    if not run_as.kinds & OF_OBJECTS:
        row = connection.execute(_TABLE, [schema, lcr.base_name or lcr.name]).fetchone()
        return _set(row[0]) if row is not None and row[2] and not row[1] and not row[3] else None
    if schema in run_as.roles:
        return _set(run_as.roles[schema])
    row = connection.execute(_SCHEMA, [schema]).fetchone()
    if row is None:
        return None  # the server says what is missing
    owner, is_superuser, is_member, is_own = row
    if is_superuser or not is_member:
        why = f"the schema's owner, {owner}, is " + ("a superuser" if is_superuser else "no role of the target's user")
        raise ApplyError(
            f"no role runs {lcr.command} {lcr.owner}.{lcr.name}: {why}",
            code="APL-116",
            table=f"{lcr.owner}.{lcr.name}",
            hint=f"name a role in the target's `run_as`: {{{schema}: ROLE}}, which owns what statements of the source"
            " make there; GRANT it to the target's user, and CREATE on the schema to it",
        )
    return None if is_own else _set(owner)


def _set(role: str) -> str:
    return f"SET LOCAL ROLE {quote(role)}"
