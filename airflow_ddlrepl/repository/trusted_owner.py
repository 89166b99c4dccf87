"""This module checks that the repository's schema on a server belongs to a role that its user can trust.

Whoever owns the schema, a table or a function in it could have their own code run with the rights of the repository's
user: by a trigger, a rule or a default. A file of SQLite has no such code, and its mode says who can write it.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

from airflow_ddlrepl.errors import RepositoryError
from airflow_ddlrepl.repository.tables import SCHEMA

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


def require_trusted(connection: Connection, shown: str) -> None:
    """Raise RepositoryError REP-120 when the schema, or something in it, belongs to a lesser role.

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
