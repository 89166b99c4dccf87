"""This module checks that the schema `ddlrepl` of a database belongs to a role that we can trust.

Whoever owns it could put functions of their own into it, which our event triggers or sessions would then run with
more rights than their author has.
"""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import quote
from airflow_ddlrepl.errors import DdlReplError

# A superuser trusts superusers; others also a role whose rights they have anyway. The schema alone must be so where
# tables are the loading role's own: with the right to CREATE in it nobody can replace what is ours. Its functions are
# found by their dependency on it, which has an index.
_OWNERS_SQL = """
WITH owners(place, owner) AS (
    SELECT 'schema ddlrepl', nspowner FROM pg_catalog.pg_namespace WHERE nspname = 'ddlrepl'
    UNION ALL
    SELECT 'ddlrepl.' || c.relname, c.relowner FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'ddlrepl' AND c.relname = ANY (%s::text[])
    UNION ALL
    SELECT 'function ddlrepl.' || p.proname, p.proowner FROM pg_catalog.pg_namespace n
    JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass AND d.refobjid = n.oid
    JOIN pg_catalog.pg_proc p ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND p.oid = d.objid
    WHERE n.nspname = 'ddlrepl'
)
SELECT o.place, r.rolname, current_user
FROM owners o JOIN pg_catalog.pg_roles r ON r.oid = o.owner
CROSS JOIN (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) me
WHERE NOT r.rolsuper AND r.rolname <> current_user
  AND (me.rolsuper OR NOT pg_catalog.pg_has_role(current_user, r.oid, 'USAGE'))
ORDER BY o.place LIKE 'schema %%' DESC, o.place LIMIT 1
"""


def require_trusted(connection: Connection[Any], tables: tuple[str, ...], kind: type[DdlReplError], code: str) -> None:
    """Raise an error of this kind when the schema, one of these tables or a function in it belongs to a lesser role."""
    row = connection.execute(_OWNERS_SQL, [list(tables)], prepare=True).fetchone()
    if row is None:
        return
    place, owner, me = row
    raise kind(
        f"{place} belongs to {owner}: functions in it could run with the rights of {me}",
        code=code,
        hint="look what is in it; then DROP SCHEMA ddlrepl CASCADE, or if it has the state of channels"
        f" ALTER SCHEMA ddlrepl OWNER TO {quote(me)}; GRANT USAGE, CREATE ON SCHEMA ddlrepl TO {quote(owner)}",
    )
