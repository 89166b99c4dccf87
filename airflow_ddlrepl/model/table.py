"""This module defines a table's shape, in which each column has an identity that survives renames."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, TypeVar

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.stored_names import TYPE_ID, TYPE_MODIFIER
from airflow_ddlrepl.model.types import Attribute, DataType, TypeDefinition, TypeKind

Value = TypeVar("Value")
Item = TypeVar("Item")


class Identity(StrEnum):
    """A table's identity says which old values of a row the log carries."""

    DEFAULT = "default"
    FULL = "full"
    INDEX = "index"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Column:
    """A column is one column of a table's shape.

    id: the source's stable identity (attnum): survives renames, never used again after a drop.
    default: expression text, for a generated column its generation expression.
    missing: text of the value that rows older than the column show (attmissingval), None when they
    show NULL or were rewritten. identity: "always", "by default" or "". generated: "stored",
    "virtual" or "". collation: quoted name when it isn't the type's default. extra: what gives the value of a column
    that only a target has by the channel file (`target_tables`), e.g. `{commit_time}`; "" for the source's columns.
    """

    id: int
    name: str
    type: DataType
    nullable: bool = True
    default: str | None = None
    missing: str | None = None
    identity: str = ""
    generated: str = ""
    collation: str | None = None
    extra: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Key:
    """A key identifies the rows of a table: its column ids in index order, and the name of its constraint or index.

    deferrable: "immediate" or "deferred", as its constraint starts out, or "" for one that is not deferrable.
    """

    columns: tuple[int, ...]
    name: str
    is_primary: bool
    deferrable: str = ""


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition value says which table a partition belongs to, `of`, and its bound, `FOR VALUES …` or `DEFAULT`."""

    of: int
    of_name: TableName
    bound: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table is the shape of one source table at one moment.

    id: the source's stable identity. key: the replication key: the index that its
    identity names, else the primary key, else a unique index of non-null columns, else None.
    second_key: the primary key where it is not the replication key: one that is DEFERRABLE (within a transaction two
    rows may share it), over a generated column (the log does not carry it), or beside an index that the identity names.
    partition_key: of a partitioned table, e.g. `RANGE (day)`; such a table holds no rows itself.
    types: definitions of the user-defined types that the columns use, dependencies first.
    storage: the file that holds the rows, another one whenever the server has rewritten them all; no part of
    the shape: shapes with different ones are equal.
    column_versions: which transaction has last defined each column, `1:734 2:801`; no part of the shape either.
    """

    id: int
    name: TableName
    columns: tuple[Column, ...]
    key: Key | None = None
    identity: Identity = Identity.DEFAULT
    unlogged: bool = False
    partition: Partition | None = None
    partition_key: str | None = None
    types: tuple[TypeDefinition, ...] = ()
    storage: int | None = field(default=None, compare=False)
    second_key: Key | None = None
    column_versions: str | None = field(default=None, compare=False)

    @property
    def is_partitioned(self) -> bool:
        """Return whether the table is partitioned."""
        return self.partition_key is not None

    @property
    def type_ids(self) -> frozenset[int]:
        """Return the ids of the columns' types and of the types that these are made of."""
        return frozenset(c.type.id for c in self.columns) | {t.id for t in self.types}

    @property
    def has_expressions(self) -> bool:
        """Return whether a column has a default or is generated, or one of the types has a default or a constraint."""
        return any(c.default is not None for c in self.columns) or any(t.constraints or t.default for t in self.types)

    def column(self, column_id: int) -> Column:
        """Return the column with this id; raise KeyError where there is none."""
        for column in self.columns:
            if column.id == column_id:
                return column
        raise KeyError(column_id)

    def named(self, name: str) -> Column:
        """Return the column with this name; raise KeyError where there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def key_columns(self) -> tuple[Column, ...]:
        """Return the columns of the replication key, none where the table has no key."""
        return tuple(self.column(i) for i in self.key.columns) if self.key else ()

    @property
    def keys(self) -> tuple[Key, ...]:
        """Return the replication key and the primary key beside it, as far as the table has them."""
        return tuple(key for key in (self.key, self.second_key) if key is not None)

    def without_keys(self) -> Table:
        """Return the table without any key."""
        return self.with_(key=None, second_key=None)

    def with_keys_of(self, columns: Container[int]) -> Table:
        """Return the table with only those of its keys whose columns are all among these ids."""
        key, second = (k if k and all(i in columns for i in k.columns) else None for k in (self.key, self.second_key))
        return self.with_(key=key, second_key=second)

    def to_json(self) -> dict[str, Any]:
        """Return the shape as a JSON object."""
        found = self.rest_to_json()
        found["columns"] = tuple([plain_column(one) for one in self.columns])
        return found

    def rest_to_json(self) -> dict[str, Any]:
        """Return the shape as a JSON object, but for `columns`, which are as they are here."""
        found = _plain(self)
        for name in ("key", "second_key", "partition"):
            found[name] = None if found[name] is None else _plain(found[name])
        found["types"] = tuple([_plain_definition(one) for one in self.types])
        return found

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Table:
        """Return the shape that `to_json` wrote; of columns, types or attributes with one id the last one counts."""
        return cls(
            id=data["id"],
            name=TableName(*data["name"]),
            columns=columns_from_json(data["columns"]),
            key=_key(data.get("key")),
            identity=Identity(data.get("identity", "default")),
            unlogged=data.get("unlogged", False),
            partition=_partition(data.get("partition")),
            partition_key=data.get("partition_key"),
            types=tuple(_definition(t) for t in {t[TYPE_ID]: t for t in data.get("types", ())}.values()),
            storage=data.get("storage"),
            second_key=_key(data.get("second_key", data.get("deferrable_key"))),
            column_versions=data.get("column_versions"),
        )

    def with_(self, **changes: Any) -> Table:
        """Return the table with some attributes replaced."""
        return replaced(self, **changes)


class ObjectKind(StrEnum):
    """A kind of object that is made on a table. UNIQUE: a primary key, a unique constraint, or a unique index."""

    FOREIGN_KEY = "foreign key"
    CHECK = "check"
    EXCLUSION = "exclusion constraint"
    UNIQUE = "unique key"
    INDEX = "index"
    TRIGGER = "trigger"


@dataclass(frozen=True, slots=True)
class TableObject:
    """A table object is made on a table of a database.

    columns: of a key or an index, in its order; "" for an expression. rule: the rest that makes it what it is:
    expressions, a predicate, what a foreign key does on a delete. referenced: of a foreign key, the table and its
    columns. statement: what creates it. is_in_force: all rows are held to it; of a trigger: it fires for applications.
    """

    kind: ObjectKind
    table: TableName
    name: str
    statement: str
    columns: tuple[str, ...] = ()
    rule: str = ""
    referenced: tuple[TableName, tuple[str, ...]] | None = None
    is_in_force: bool = True


def _plain(value: object) -> dict[str, Any]:
    """Return the fields of an object by name; `asdict` takes many times as long, and thousands of shapes are stored."""
    kind: Any = type(value)
    return dict(zip(_keys_of(kind), fields_of(kind)[1](value), strict=True))


@cache
def _keys_of(kind: Any) -> tuple[str, ...]:
    """Return the names of a dataclass's fields in JSON: the id and the modifier of a type have older names there."""
    return tuple(_KEYS.get(name, name) if kind in (DataType, TypeDefinition) else name for name in fields_of(kind)[0])


_KEYS = {"id": TYPE_ID, "modifier": TYPE_MODIFIER}
_NAMES = {stored: name for name, stored in _KEYS.items()}


def plain_column(column: Column) -> dict[str, Any]:
    """Return a column as a JSON object."""
    found = _plain(column)
    found["type"] = _plain(column.type)
    return found


def _plain_definition(definition: TypeDefinition) -> dict[str, Any]:
    found = _plain(definition)
    found["attributes"] = tuple([_plain(one) for one in definition.attributes])
    return found


def columns_from_json(data: Sequence[Any]) -> tuple[Column, ...]:
    """Return the columns of a list of JSON objects, of those with one id the last one; columns are returned as such."""
    if isinstance(data, tuple) and data and isinstance(data[0], Column):
        return data
    return tuple([_column(one) for one in {one["id"]: one for one in data}.values()])


def _column(data: dict[str, Any]) -> Column:
    return _shared_column(**{**data, "type": tuple(data["type"].items())})


@lru_cache(maxsize=32768)
def _shared_column(type: tuple[tuple[str, Any], ...], **rest: Any) -> Column:
    """Return the column of this type; equal ones share one object: the shapes of a table have most in common."""
    return Column(type=_type(**dict(type)), **rest)


@lru_cache(maxsize=4096)
def _type(**stored: Any) -> DataType:
    """Return the data type of this JSON object; equal ones share one object, as thousands of columns have few types."""
    found = {_NAMES.get(name, name): value for name, value in stored.items()}
    return DataType(**{**found, "kind": TypeKind(found["kind"])})


def _key(data: dict[str, Any] | None) -> Key | None:
    return Key(**{**data, "columns": tuple(data["columns"])}) if data else None


def _partition(data: dict[str, Any] | None) -> Partition | None:
    return Partition(data["of"], TableName(*data["of_name"]), data["bound"]) if data else None


def _definition(data: dict[str, Any]) -> TypeDefinition:
    rest = {name: value for name, value in data.items() if name != TYPE_ID}
    return TypeDefinition(
        id=data[TYPE_ID],
        **{
            **rest,
            "kind": TypeKind(data["kind"]),
            "labels": tuple(data["labels"]),
            "attributes": tuple(Attribute(**a) for a in {a["id"]: a for a in data["attributes"]}.values()),
            "constraints": tuple((name, text) for name, text in data["constraints"]),
        },
    )


def replaced(value: Value, **changes: Any) -> Value:
    """Return a dataclass's value with some fields replaced; all fields are parameters of its constructor."""
    kind: Any = type(value)
    names, values = fields_of(kind)
    found: Value = kind(**{**dict(zip(names, values(value), strict=True)), **changes})
    return found


@cache
def fields_of(kind: Any) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Return the names of a dataclass's fields, and the function that reads them all."""
    names = tuple(field.name for field in fields(kind))
    return names, attrgetter(*names)


def same_or(before: tuple[Item, ...], after: Iterable[Item]) -> tuple[Item, ...]:
    """Return the items after a change; the same object as before where each is the object that it was."""
    found = tuple(after)
    is_same = len(found) == len(before) and all(one is other for one, other in zip(before, found, strict=True))
    return before if is_same else found
