"""This module names the parts of a shadow table that became the table: its index, constraints and sequences.

They get the names that a table of that name would have got from the server, and the table gets the grants that its
schema gives to new tables.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import count
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.model.names import MAX_NAME_BYTES, TableName

_PARTS = """
SELECT 'INDEX', i.relname, CASE WHEN x.indisprimary THEN '' ELSE (
        SELECT string_agg(a.attname, '_' ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = i.oid) END,
    CASE WHEN x.indisprimary THEN 'pkey' ELSE 'idx' END
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = {table}::regclass
UNION ALL
SELECT 'CONSTRAINT', k.conname, a.attname, 'not_null'
FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
WHERE k.conrelid = {table}::regclass AND k.contype = 'n'
UNION ALL
SELECT 'SEQUENCE', s.relname, a.attname, 'seq'
FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
  AND d.refobjid = {table}::regclass AND d.deptype IN ('i', 'a')
"""
_TAKEN = """
SELECT 'CONSTRAINT', conname FROM pg_constraint WHERE conrelid = %s::regclass AND conname = ANY (%s::name[])
UNION ALL
SELECT 'RELATION', relname FROM pg_class WHERE relname = ANY (%s::name[])
  AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = %s::regclass)
"""
_DEFAULT_GRANTS = """
SELECT x.privilege_type, r.rolname, x.is_grantable
FROM pg_default_acl d CROSS JOIN LATERAL aclexplode(d.defaclacl) x LEFT JOIN pg_roles r ON r.oid = x.grantee
WHERE d.defaclobjtype = 'r' AND d.defaclnamespace = {schema}::regnamespace
  AND d.defaclrole = current_user::regrole
"""


def name_parts(cursor: Any, table: TableName) -> None:
    """Rename the indexes, constraints and sequences of a table that still have their shadow table's name."""
    cursor.execute(_PARTS.format(table=literal(qualified(table))).encode())
    parts = cursor.fetchall()
    first = {object_name(table.name, part, label) for _, _, part, label in parts}
    taken = _taken(cursor, table, first)
    renames: list[str] = []
    for kind, old, part, label in parts:
        wishes = (object_name(table.name, part, f"{label}{n or ''}") for n in count())
        space = "CONSTRAINT" if kind == "CONSTRAINT" else "RELATION"
        for new in wishes:
            if new not in first:
                first.add(new)
                taken |= _taken(cursor, table, [new])
            if new == old or (space, new) not in taken:
                break
        if new != old:
            renames.append(_rename(kind, table, old, new))
            taken = (taken | {(space, new)}) - {(space, old)}
    if renames:
        cursor.execute("; ".join(renames).encode())


def object_name(table: str, part: str, label: str) -> str:
    """Return the name that the server would compose for a part of a table: table_part_label.

    In 63 bytes; the longer of the first two is cut.
    """
    first, second = table.encode(), part.encode()
    room = MAX_NAME_BYTES - len(label) - 1 - (1 if second else 0)
    while len(first) + len(second) > room:
        first, second = (first[:-1], second) if len(first) > len(second) else (first, second[:-1])
    names = [name.decode(errors="ignore") for name in (first, second) if name]
    return "_".join([*names, label])


def grant_defaults(cursor: Any, table: TableName) -> None:
    """Grant what ALTER DEFAULT PRIVILEGES IN SCHEMA says for new tables of the table's schema.

    The table was made in a schema of ours, where that did not apply.
    """
    cursor.execute(_DEFAULT_GRANTS.format(schema=literal(quote(table.schema))).encode())
    for privilege, role, grantable in cursor.fetchall():
        to = quote(role) if role else "PUBLIC"
        option = " WITH GRANT OPTION" if grantable else ""
        cursor.execute(f"GRANT {privilege} ON TABLE {qualified(table)} TO {to}{option}".encode())


def _taken(cursor: Any, table: TableName, names: Collection[str]) -> set[tuple[str, str]]:
    """Return which of these names a constraint of the table has, or a relation in the table's schema."""
    if not names:
        return set()
    place = qualified(table)
    cursor.execute(_TAKEN, [place, list(names), list(names), place])
    return {(kind, name) for kind, name in cursor.fetchall()}


def _rename(kind: str, table: TableName, old: str, new: str) -> str:
    if kind == "CONSTRAINT":
        return f"ALTER TABLE {qualified(table)} RENAME CONSTRAINT {quote(old)} TO {quote(new)}"
    return f"ALTER {kind} {qualified(TableName(table.schema, old))} RENAME TO {quote(new)}"
