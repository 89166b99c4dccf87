"""This module defines data types as the source's catalog describes them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TypeKind(StrEnum):
    """A type's kind is its pg_type.typtype, with a value of its own for arrays."""

    BASE = "base"
    ARRAY = "array"
    ENUM = "enum"
    COMPOSITE = "composite"
    DOMAIN = "domain"
    RANGE = "range"
    MULTIRANGE = "multirange"


@dataclass(frozen=True, slots=True)
class DataType:
    """A data type is the type of one column.

    text: as DDL spells it with its modifiers, schema-qualified and quoted unless it is a type of
    pg_catalog: `numeric(12,2)`, `character varying(20)`, `shop."Status"[]`.
    schema/name: of the type without modifiers; for arrays those of the element type.
    oid/typmod: of this source. extension: the extension that brings the type, if any.
    """

    text: str
    schema: str
    name: str
    kind: TypeKind = TypeKind.BASE
    oid: int = 0
    typmod: int = -1
    extension: str | None = None

    @property
    def is_builtin(self) -> bool:
        """Return whether every server has the type under the same oid."""
        return self.schema == "pg_catalog"


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute is one field of a composite type."""

    id: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class TypeDefinition:
    """A type definition describes a user-defined type that a table's column uses, directly or nested.

    It is an enum, a domain, a composite, a range or a multirange.
    labels: of an enum, in order. attributes: of a composite. base: of a domain or range, as DDL text
    (with typmod); of a multirange its range. constraints: of a domain, (name, `CHECK (…)` text).
    not_null, default: of a domain.
    """

    oid: int
    schema: str
    name: str
    kind: TypeKind
    labels: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    base: str | None = None
    constraints: tuple[tuple[str, str], ...] = ()
    not_null: bool = False
    default: str | None = None
    collation: str | None = None
