"""Random shapes of tables, and random successors of a shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import strategies as st

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Identity, Key, Partition, Table
from airflow_ddlrepl.model.types import Attribute, DataType, TypeDefinition, TypeKind

NAMES = st.sampled_from(["a", "b", "c", "d", 'q"x', "Ü ; --", "%s"])
PLAIN_TYPES = [
    DataType("integer", "pg_catalog", "int4", id=23),
    DataType("bigint", "pg_catalog", "int8", id=20),
    DataType("text", "pg_catalog", "text", id=25),
    DataType("character varying(5)", "pg_catalog", "varchar", id=1043, modifier=9),
    DataType("character varying(12)", "pg_catalog", "varchar", id=1043, modifier=16),
    DataType("numeric(6,2)", "pg_catalog", "numeric", id=1700, modifier=(6 << 16 | 2) + 4),
]
BOUNDS = ("DEFAULT", "FOR VALUES IN (1)")


@st.composite
def definitions(draw: st.DrawFn, oid: int, name: str) -> TypeDefinition:
    kind = [TypeKind.ENUM, TypeKind.DOMAIN, TypeKind.COMPOSITE][oid % 3]
    of = TypeDefinition(oid, "public", name, kind)
    if kind is TypeKind.ENUM:
        return replace(of, labels=tuple(draw(st.lists(st.sampled_from("wxyz"), unique=True, min_size=1))))
    if kind is TypeKind.DOMAIN:
        checks = draw(
            st.lists(st.sampled_from([("one", "CHECK (VALUE > 1)"), ("two", "CHECK (VALUE > 2)")]), unique=True)
        )
        return replace(of, base="integer", constraints=tuple(checks), not_null=draw(st.booleans()))
    ids = draw(st.lists(st.integers(1, 4), unique=True, min_size=1))
    names = draw(st.permutations(["p", "q", "r", "s"]))
    return replace(of, attributes=tuple(Attribute(i, names[n], "integer") for n, i in enumerate(sorted(ids))))


@st.composite
def tables(draw: st.DrawFn, table_id: int = 1) -> Table:
    """Unique column names, keys of mandatory columns, types that the columns use; a partition has columns."""
    ids = sorted(draw(st.lists(st.integers(1, 6), unique=True, max_size=6)))
    names = draw(st.lists(NAMES, min_size=len(ids), max_size=len(ids), unique=True))
    oids = draw(st.lists(st.sampled_from([30001, 30002, 30003]), unique=True))
    types = [draw(definitions(oid, draw(st.sampled_from([f"t{oid}", f"u{oid}"])))) for oid in oids]
    columns = tuple(draw(columns_of(i, name, types)) for i, name in zip(ids, names, strict=True))
    key, second_key = draw(keys(columns)), draw(second_keys(columns))
    partitions = [Partition(9, TableName("public", "m"), bound) for bound in BOUNDS if columns]
    return Table(
        table_id,
        TableName(draw(st.sampled_from(["public", "s"])), draw(NAMES)),
        columns,
        key=replace(key, is_primary=False) if key and second_key else key,  # a table has one primary key
        identity=draw(st.sampled_from(Identity)),
        unlogged=draw(st.booleans()),
        partition=draw(st.sampled_from([None, *partitions])),
        types=tuple(types),
        second_key=second_key,
    )


@st.composite
def columns_of(draw: st.DrawFn, column_id: int, name: str, types: list[TypeDefinition]) -> Column:
    user = [DataType(f"{t.schema}.{t.name}", t.schema, t.name, t.kind, id=t.id) for t in types]
    column = Column(column_id, name, draw(st.sampled_from(PLAIN_TYPES + user)), nullable=draw(st.booleans()))
    missing = draw(st.sampled_from([None, "1"]))
    sort = draw(st.sampled_from(["plain", "plain", "default", "identity", "generated"]))
    if sort == "default":
        return replace(column, default=draw(st.sampled_from(["1", "now()", "public.f()"])), missing=missing)
    if sort == "identity":
        return replace(column, identity=draw(st.sampled_from(["always", "by default"])), nullable=False)
    if sort == "generated":
        return replace(column, generated=draw(st.sampled_from(["stored", "virtual"])), default=draw(NAMES))
    return replace(column, collation=draw(st.sampled_from([None, 'pg_catalog."C"'])))


@st.composite
def keys(draw: st.DrawFn, columns: tuple[Column, ...]) -> Key | None:
    ids = [c.id for c in columns if not c.nullable and not c.generated]
    chosen = draw(st.lists(st.sampled_from(ids), unique=True, max_size=3)) if ids else []
    return Key(tuple(chosen), draw(st.sampled_from(["k", "l"])), draw(st.booleans())) if chosen else None


@st.composite
def second_keys(draw: st.DrawFn, columns: tuple[Column, ...]) -> Key | None:
    when = draw(st.sampled_from([None, None, "", "immediate", "deferred"]))
    key = draw(keys(columns)) if when is not None else None
    return replace(key, is_primary=True, deferrable=when or "") if key else None


def apply_all(changes: Iterable[SchemaChange], shape: Table | None) -> Table | None:
    """Return the shape after all changes."""
    for change in changes:
        shape = change.apply(shape)
    return shape
