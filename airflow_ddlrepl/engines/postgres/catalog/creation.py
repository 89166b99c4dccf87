"""This module finds how the source has what a target lacks: the statement that a person can run there.

It is shown, and never run: a target gets code of the source's users from a person alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote

_CATALOGS: Mapping[str, tuple[str, str]] = {
    "type": ("pg_type", "typ"),
    "collation": ("pg_collation", "coll"),
    "operator class": ("pg_opclass", "opc"),
}
"""The catalog of a sort of objects, and how the names of its columns begin."""

_FUNCTION = "SELECT 'pg_proc'::regclass::oid, to_regprocedure(%s)::oid"
_EXTENSION = """
SELECT e.extname, n.nspname FROM pg_depend d
JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE d.classid = %s AND d.objid = %s AND d.deptype = 'e'
"""
_OF_SCHEMA = """
SELECT e.extname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE n.nspname = %s ORDER BY 1
"""
_COLLATION = """
SELECT n.nspname, c.collname, CASE c.collprovider WHEN 'i' THEN 'icu' WHEN 'b' THEN 'builtin' ELSE 'libc' END,
       COALESCE(to_jsonb(c) ->> 'colllocale', to_jsonb(c) ->> 'colliculocale', c.collcollate), c.collisdeterministic
FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace WHERE c.oid = %s
"""


def creation_text(connection: Connection[Any], missing: str) -> str:
    """Return the statements that create an object as this database has it; empty when it has none such.

    missing: a function with the types of its arguments, or a sort and a name as the server shows it, such as
    `collation public.german` (`errors.missing_object`).
    """
    sort = next((one for one in (*_CATALOGS, "schema") if missing.startswith(f"{one} ")), "function")
    name = missing.removeprefix(f"{sort} ")
    if sort == "schema":
        return _schema(connection, name)
    found = _found(connection, sort, name)
    if found is None:
        return ""
    extension = connection.execute(_EXTENSION, found).fetchone()
    if extension is not None:
        return f"CREATE EXTENSION {quote(extension[0])} SCHEMA {quote(extension[1])}"
    if sort == "function":
        row = connection.execute(
            "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE oid = %s AND prokind IN ('f', 'p')", [found[1]]
        ).fetchone()
        return str(row[0]).strip() if row else ""
    return _collation(connection, found[1]) if sort == "collation" else ""


def _found(connection: Connection[Any], sort: str, name: str) -> tuple[int, int] | None:
    """Return the oids of the catalog and of the object; None where there is none such."""
    if sort == "function":
        row = connection.execute(_FUNCTION, [name]).fetchone()
    else:
        catalog, prefix = _CATALOGS[sort]
        query = (
            f"SELECT '{catalog}'::regclass::oid, o.oid FROM {catalog} o"
            f" JOIN pg_namespace n ON n.oid = o.{prefix}namespace"
            f" WHERE %(name)s::text IN (n.nspname || '.' || o.{prefix}name, o.{prefix}name)"
            f" ORDER BY n.nspname || '.' || o.{prefix}name = %(name)s::text DESC LIMIT 1"
        )
        row = connection.execute(query.encode(), {"name": name}).fetchone()
    return (row[0], row[1]) if row and row[1] is not None else None


def _schema(connection: Connection[Any], name: str) -> str:
    there = connection.execute("SELECT FROM pg_namespace WHERE nspname = %s", [name]).fetchone()
    if there is None:
        return ""
    extensions = [extension for (extension,) in connection.execute(_OF_SCHEMA, [name])]
    made = [f"CREATE EXTENSION {quote(extension)} SCHEMA {quote(name)}" for extension in extensions]
    usage = f"GRANT USAGE ON SCHEMA {quote(name)} TO <the target's role>"
    return "; ".join([f"CREATE SCHEMA {quote(name)}", usage, *made])


def _collation(connection: Connection[Any], oid: int) -> str:
    row = connection.execute(_COLLATION, [oid]).fetchone()
    if row is None:
        return ""
    schema, name, provider, locale, is_deterministic = row
    parts = [f"provider = {provider}", f"locale = {literal(locale or '').strip()}"]
    parts += [] if is_deterministic else ["deterministic = false"]
    return f"CREATE COLLATION {quote(schema)}.{quote(name)} ({', '.join(parts)})"
