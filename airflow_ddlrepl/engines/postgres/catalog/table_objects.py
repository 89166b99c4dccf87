"""This module reads what is made on tables besides their columns: foreign keys, checks, indexes, triggers.

Of a partitioned table its own are read, not what the server has made of them on the partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import ObjectKind, TableObject

_CONSTRAINT_KINDS = {"f": ObjectKind.FOREIGN_KEY, "c": ObjectKind.CHECK, "x": ObjectKind.EXCLUSION}
_CONSTRAINTS = """
SELECT k.contype, n.nspname, t.relname, k.conname,
       format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s;', t.oid::regclass, k.conname, pg_get_constraintdef(k.oid)),
       ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY u(number, place)
             JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.number ORDER BY u.place),
       CASE k.contype WHEN 'f' THEN concat('ON UPDATE ', k.confupdtype, ' ON DELETE ', k.confdeltype)
                      WHEN 'c' THEN pg_get_expr(k.conbin, k.conrelid) ELSE pg_get_constraintdef(k.oid) END,
       m.nspname, r.relname,
       ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY u(number, place)
             JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.number ORDER BY u.place),
       k.convalidated AND coalesce((to_jsonb(k) ->> 'conenforced')::boolean, true)
           AND NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgconstraint = k.oid AND g.tgenabled IN ('D', 'R'))
FROM pg_constraint k JOIN pg_class t ON t.oid = k.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace
LEFT JOIN pg_class r ON r.oid = k.confrelid LEFT JOIN pg_namespace m ON m.oid = r.relnamespace
WHERE k.conrelid = ANY (%s::oid[]) AND k.contype IN ('f', 'c', 'x') AND k.conparentid = 0
  AND (k.contype <> 'c' OR k.conislocal)
ORDER BY k.conname
"""
_INDEXES = """
SELECT i.indisunique, n.nspname, t.relname, c.relname,
       coalesce('ALTER TABLE ' || t.oid::regclass || ' ADD CONSTRAINT ' || quote_ident(k.conname) || ' '
                || pg_get_constraintdef(k.oid), regexp_replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON '))
                || ';',
       ARRAY(SELECT coalesce(a.attname::text, '') FROM unnest(i.indkey::int2[]) WITH ORDINALITY u(number, place)
             LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = u.number AND u.number <> 0
             WHERE u.place <= i.indnkeyatts ORDER BY u.place),
       concat_ws(' ', m.amname, pg_get_expr(i.indexprs, i.indrelid), 'WHERE ' || pg_get_expr(i.indpred, i.indrelid),
                 CASE WHEN (to_jsonb(i) ->> 'indnullsnotdistinct')::boolean THEN 'NULLS NOT DISTINCT' END),
       i.indisvalid
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace
LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype IN ('p', 'u')
WHERE i.indrelid = ANY (%s::oid[]) AND NOT c.relispartition AND NOT i.indisexclusion
ORDER BY c.relname
"""
# Keys are compared by the operators of the foreign key: those of a type may be in any schema.
_REFERENCES = """
SELECT n.nspname, t.relname, k.conname, fn.nspname, ft.relname,
       format('SELECT EXISTS (SELECT FROM %%s c WHERE %%s AND NOT EXISTS (SELECT FROM %%s p WHERE %%s))',
              k.conrelid::regclass, pair.are_set, k.confrelid::regclass, pair.are_equal)
FROM pg_constraint k JOIN pg_class t ON t.oid = k.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_class ft ON ft.oid = k.confrelid JOIN pg_namespace fn ON fn.oid = ft.relnamespace
CROSS JOIN LATERAL (
    SELECT string_agg(format('c.%%I IS NOT NULL', a.attname), ' AND ') AS are_set,
           string_agg(format('p.%%I OPERATOR(%%I.%%s) c.%%I', b.attname, m.nspname, o.oprname, a.attname), ' AND ')
               AS are_equal
    FROM unnest(k.conkey, k.confkey, k.conpfeqop) u(own, other, operator)
    JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.own
    JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = u.other
    JOIN pg_operator o ON o.oid = u.operator JOIN pg_namespace m ON m.oid = o.oprnamespace) pair
WHERE k.conrelid = ANY (%s::oid[]) AND k.contype = 'f' AND k.conparentid = 0
ORDER BY 1, 2, 3
"""
_TRIGGERS = """
SELECT n.nspname, t.relname, g.tgname, pg_get_triggerdef(g.oid) || ';', g.tgenabled IN ('O', 'A')
FROM pg_trigger g JOIN pg_class t ON t.oid = g.tgrelid JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_proc p ON p.oid = g.tgfoid JOIN pg_namespace f ON f.oid = p.pronamespace
WHERE g.tgrelid = ANY (%s::oid[]) AND NOT g.tgisinternal AND g.tgparentid = 0 AND f.nspname <> 'ddlrepl'
ORDER BY g.tgname
"""


def table_objects(connection: Connection[Any], table_ids: Collection[int]) -> list[TableObject]:
    """Return the foreign keys, checks, exclusion constraints, indexes and triggers of these tables."""
    ids = list(table_ids)
    return [*_constraints(connection, ids), *_indexes(connection, ids), *_triggers(connection, ids)]


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference is a foreign key of a table. query: reads all rows of both tables and says whether any breaks it."""

    table: TableName
    name: str
    referenced: TableName
    query: str


def references(connection: Connection[Any], table_ids: Collection[int]) -> list[Reference]:
    """Return the foreign keys of these tables.

    A server that has not checked a key while rows were written takes it for valid.
    """
    keys = connection.execute(_REFERENCES.encode(), [list(table_ids)]).fetchall()
    return [
        Reference(TableName(schema, table), name, TableName(other_schema, other), query)
        for schema, table, name, other_schema, other, query in keys
    ]


def is_broken(connection: Connection[Any], reference: Reference) -> bool:
    """Is there a row that breaks the key?"""
    row = connection.execute(reference.query.encode()).fetchone()
    return row is not None and bool(row[0])


def _constraints(connection: Connection[Any], ids: list[int]) -> Iterator[TableObject]:
    for kind, *at, name, statement, columns, rule, schema, table, others, is_in_force in connection.execute(
        _CONSTRAINTS.encode(), [ids]
    ):
        referenced = None if table is None else (TableName(schema, table), tuple(others))
        keys = () if kind == "c" else tuple(columns)
        what = _CONSTRAINT_KINDS[kind]
        yield TableObject(what, TableName(*at), name, statement, keys, rule, referenced, is_in_force)


def _indexes(connection: Connection[Any], ids: list[int]) -> Iterator[TableObject]:
    for is_unique, *at, name, statement, columns, rule, is_valid in connection.execute(_INDEXES.encode(), [ids]):
        kind = ObjectKind.UNIQUE if is_unique else ObjectKind.INDEX
        yield TableObject(kind, TableName(*at), name, statement, tuple(columns), rule, is_in_force=is_valid)


def _triggers(connection: Connection[Any], ids: list[int]) -> Iterator[TableObject]:
    for *at, name, statement, fires in connection.execute(_TRIGGERS.encode(), [ids]):
        yield TableObject(ObjectKind.TRIGGER, TableName(*at), name, statement, is_in_force=fires)
