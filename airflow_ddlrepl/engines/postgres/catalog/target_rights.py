"""This module finds which rights the role of a target's location lacks, each with the SQL that grants it."""

from __future__ import annotations

from collections.abc import Collection

from airflow_ddlrepl.engines.postgres.connection.connect import describe, session
from airflow_ddlrepl.engines.postgres.connection.quoting import quote

_ROLE = """
SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE'), current_user,
       pg_catalog.current_database()
"""
_CLOSED = """
SELECT n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname = ANY (%s::text[])
  AND NOT (pg_catalog.has_schema_privilege(n.oid, 'CREATE') AND pg_catalog.has_schema_privilege(n.oid, 'USAGE'))
ORDER BY 1
"""


def target_rights(location: str, schemas: Collection[str]) -> tuple[str, str]:
    """Return a sentence about a target's answer, and the statements that its owner has to run there.

    schemas: that the channel writes to; those that are not there need the right to create schemas.
    """
    with session(location) as connection:
        may_create, role, database = connection.execute(_ROLE).fetchone() or (False, "", "")
        closed = [name for (name,) in connection.execute(_CLOSED, [list(schemas)])]
    lacks = [] if may_create else [("create schemas there", f"DATABASE {quote(database)}", "CREATE")]
    lacks += [(f"create tables in schema {name}", f"SCHEMA {quote(name)}", "CREATE, USAGE") for name in closed]
    if not lacks:
        return f"{describe(location)} answers", ""
    what = ", or ".join(what for what, _, _ in lacks)
    fix = " ".join(f"GRANT {rights} ON {place} TO {quote(role)};" for _, place, rights in lacks)
    return f"{describe(location)} answers, but {role} may not {what}", fix
