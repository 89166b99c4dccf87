"""The shape of a table with stable column identity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.types import Attribute, DataType, TypeDefinition, TypeKind


class Identity(StrEnum):
    """What the log tells of a row's old values (REPLICA IDENTITY)."""

    DEFAULT = "default"
    FULL = "full"
    INDEX = "index"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    id: the source's stable identity (attnum): survives renames, never used again after a drop.
    default: expression text, for a generated column its generation expression.
    missing: text of the value that rows older than the column show (attmissingval), None when they
    show NULL or were rewritten. identity: "always", "by default" or "". generated: "stored",
    "virtual" or "". collation: quoted name when it isn't the type's default.
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


@dataclass(frozen=True, slots=True)
class Key:
    """What tells one row from another: column ids in index order; name of the constraint or index.

    deferrable: "immediate" or "deferred", as its constraint starts out, or "" for one that is not deferrable.
    """

    columns: tuple[int, ...]
    name: str
    is_primary: bool
    deferrable: str = ""


@dataclass(frozen=True, slots=True)
class Partition:
    """This table is a partition: of which table, with which bound (`FOR VALUES …` or `DEFAULT`)."""

    of: int
    of_name: TableName
    bound: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table's shape at one moment.

    id: the source's stable identity (pg_class.oid). key: the replication key: the replica identity
    index if one is set, else the primary key, else a unique index of non-null columns, else None.
    deferrable_key: a primary key that is DEFERRABLE: within a transaction two rows may share it, so `key` is never it.
    partition_key: of a partitioned table, e.g. `RANGE (day)`; such a table holds no rows itself.
    types: definitions of the user-defined types that the columns use, dependencies first.
    storage: the file that holds the rows, another one whenever the server has written them all anew; no part of
    the shape: shapes with different ones are equal.
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
    deferrable_key: Key | None = None

    @property
    def is_partitioned(self) -> bool:
        return self.partition_key is not None

    @property
    def type_oids(self) -> frozenset[int]:
        """Of its columns' types, and of those that they are made of."""
        return frozenset(c.type.oid for c in self.columns) | {t.oid for t in self.types}

    def column(self, column_id: int) -> Column:
        for column in self.columns:
            if column.id == column_id:
                return column
        raise KeyError(column_id)

    def named(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def key_columns(self) -> tuple[Column, ...]:
        return tuple(self.column(i) for i in self.key.columns) if self.key else ()

    @property
    def keys(self) -> tuple[Key, ...]:
        """The replication key, and the primary key that is none because it is deferrable."""
        return tuple(key for key in (self.key, self.deferrable_key) if key is not None)

    def without_keys(self) -> Table:
        return self.with_(key=None, deferrable_key=None)

    def with_keys_of(self, columns: Container[int]) -> Table:
        """The table with those of its keys only whose columns are all among these."""
        key, deferrable = (
            k if k and all(i in columns for i in k.columns) else None for k in (self.key, self.deferrable_key)
        )
        return self.with_(key=key, deferrable_key=deferrable)

    def fingerprint(self) -> str:
        """Equal exactly when the shape is equal; 32 hex digits."""
        return hashlib.sha256(json.dumps({**self.to_json(), "storage": None}, sort_keys=True).encode()).hexdigest()[:32]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Table:
        """Of a column, a type or an attribute that stands there twice the last counts."""
        return cls(
            id=data["id"],
            name=TableName(*data["name"]),
            columns=tuple(_column(c) for c in {c["id"]: c for c in data["columns"]}.values()),
            key=_key(data.get("key")),
            identity=Identity(data.get("identity", "default")),
            unlogged=data.get("unlogged", False),
            partition=_partition(data.get("partition")),
            partition_key=data.get("partition_key"),
            types=tuple(_definition(t) for t in {t["oid"]: t for t in data.get("types", ())}.values()),
            storage=data.get("storage"),
            deferrable_key=_key(data.get("deferrable_key")),
        )

    def with_(self, **changes: Any) -> Table:
        return replace(self, **changes)


def _column(data: dict[str, Any]) -> Column:
    return Column(**{**data, "type": _type(**data["type"])})


@lru_cache(maxsize=4096)
def _type(kind: str, **rest: Any) -> DataType:
    """Thousands of columns have the same few types."""
    return DataType(kind=TypeKind(kind), **rest)


def _key(data: dict[str, Any] | None) -> Key | None:
    return Key(**{**data, "columns": tuple(data["columns"])}) if data else None


def _partition(data: dict[str, Any] | None) -> Partition | None:
    return Partition(data["of"], TableName(*data["of_name"]), data["bound"]) if data else None


def _definition(data: dict[str, Any]) -> TypeDefinition:
    return TypeDefinition(
        **{
            **data,
            "kind": TypeKind(data["kind"]),
            "labels": tuple(data["labels"]),
            "attributes": tuple(Attribute(**a) for a in {a["id"]: a for a in data["attributes"]}.values()),
            "constraints": tuple((name, text) for name, text in data["constraints"]),
        }
    )
