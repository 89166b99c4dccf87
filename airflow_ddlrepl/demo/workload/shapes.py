"""Read from a database's catalog what a row must look like to get into each table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.demo.workload.airflow_invariants import SOFT_REFERENCES
from airflow_ddlrepl.model.names import TableName

if TYPE_CHECKING:
    from psycopg import Connection


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot is one column that takes values.

    base: pg_type.typname. length: of varchar(n), 0 when unlimited. labels: of an enum. is_serial: its default draws
    from a sequence.
    """

    id: int
    name: str
    type: str
    base: str
    length: int
    labels: tuple[str, ...]
    nullable: bool
    has_default: bool
    is_serial: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference is a foreign key: the ids of its columns, and the columns of another table that they refer to."""

    columns: tuple[int, ...]
    table: TableName
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape is what a row of one table must look like.

    unique: ids of columns in a unique index. indexed: in any index. is_referenced: other tables' foreign keys refer to
    it.
    """

    name: TableName
    slots: tuple[Slot, ...]
    unique: frozenset[int]
    indexed: frozenset[int]
    references: tuple[Reference, ...]
    is_referenced: bool


TABLES = """
SELECT n.nspname, c.relname, c.oid::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND NOT c.relispartition AND c.relpersistence = 'p' AND n.nspname = ANY(%s) ORDER BY 1, 2
"""
COLUMNS = """
SELECT a.attrelid::bigint, a.attnum::int, a.attname::text, format_type(a.atttypid, a.atttypmod), t.typname::text,
       CASE WHEN t.typname IN ('varchar', 'bpchar') AND a.atttypmod > 4 THEN a.atttypmod - 4 ELSE 0 END,
       coalesce((SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid),
                '{}'::text[]),
       NOT a.attnotnull, d.adbin IS NOT NULL OR a.attidentity <> '',
       a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%%', false)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = ANY(%s::bigint[]::oid[]) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY 1, 2
"""
INDEXES = """
SELECT indrelid::bigint, indisunique, string_to_array(indkey::text, ' ')::int[] FROM pg_index
WHERE indrelid = ANY(%s::bigint[]::oid[])
"""
REFERENCES = """
SELECT k.conrelid::bigint, k.conkey::int[], k.confrelid::bigint,
       (SELECT array_agg(a.attname::text ORDER BY o) FROM unnest(k.confkey) WITH ORDINALITY AS u(n, o)
        JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.n)
FROM pg_constraint k WHERE k.contype = 'f' AND k.conrelid = ANY(%s::bigint[]::oid[]) ORDER BY k.conname
"""


def read_shapes(connection: Connection[Any], schemas: tuple[str, ...] = ("public",)) -> list[Shape]:
    """Return every ordinary table of these schemas, referenced tables before those that refer to them."""
    names = {oid: TableName(s, t) for s, t, oid in connection.execute(TABLES, [list(schemas)])}
    oids = [list(names)]
    slots: dict[int, list[Slot]] = {oid: [] for oid in names}
    unique: dict[int, set[int]] = {oid: set() for oid in names}
    indexed: dict[int, set[int]] = {oid: set() for oid in names}
    references: dict[int, list[Reference]] = {oid: [] for oid in names}
    for oid, number, *rest in connection.execute(COLUMNS, oids):
        name, type_, base, length, labels, nullable, default, serial = rest
        slots[oid].append(Slot(number, name, type_, base, length, tuple(labels), nullable, default, serial))
    for oid, is_unique, columns in connection.execute(INDEXES, oids):
        indexed[oid].update(columns)
        if is_unique:
            unique[oid].update(columns)
    pointed: set[TableName] = set()
    for oid, columns, to, to_names in connection.execute(REFERENCES, oids):
        if to in names:
            references[oid].append(Reference(tuple(columns), names[to], tuple(to_names)))
            pointed.add(names[to])
    for oid, soft in _soft_references(names, slots):
        if not any(set(soft.columns) & set(known.columns) for known in references[oid]):
            references[oid].append(soft)
    shapes = [
        Shape(
            name,
            tuple(slots[oid]),
            frozenset(unique[oid]),
            frozenset(indexed[oid]),
            tuple(sorted(references[oid], key=lambda r: -len(r.columns))),
            name in pointed,
        )
        for oid, name in names.items()
    ]
    return _parents_first(shapes)


def _soft_references(names: dict[int, TableName], slots: dict[int, list[Slot]]) -> Iterator[tuple[int, Reference]]:
    """Return references that only the application knows."""
    tables = {name.name: oid for oid, name in names.items()}
    for (table, column), (to, to_column) in SOFT_REFERENCES.items():
        oid = tables.get(table)
        slot = next((s for s in slots.get(oid, ()) if s.name == column), None) if oid is not None else None
        if oid is not None and slot is not None and to in tables:
            yield oid, Reference((slot.id,), names[tables[to]], (to_column,))


def _parents_first(shapes: list[Shape]) -> list[Shape]:
    """Return referenced tables first; a circle is entered at its first table by name."""
    known = {shape.name: shape for shape in shapes}
    done: dict[TableName, Shape] = {}

    def visit(shape: Shape, path: frozenset[TableName]) -> None:
        if shape.name in done or shape.name in path:
            return
        for reference in shape.references:
            visit(known[reference.table], path | {shape.name})
        done[shape.name] = shape

    for shape in shapes:
        visit(shape, frozenset())
    return list(done.values())
