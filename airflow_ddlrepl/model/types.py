"""Data types as the source's catalog states them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TypeKind(StrEnum):
    """What sort of type it is (pg_type.typtype, arrays told apart)."""

    BASE = "base"
    ARRAY = "array"
    ENUM = "enum"
    COMPOSITE = "composite"
    DOMAIN = "domain"
    RANGE = "range"
    MULTIRANGE = "multirange"


@dataclass(frozen=True, slots=True)
class DataType:
    """One column's type.

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
        """Every server has it under the same oid."""
        return self.schema == "pg_catalog"

    @property
    def is_everywhere(self) -> bool:
        """Every server has it, if not under the same oid."""
        return self.is_builtin or self.schema == "information_schema"


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a composite type."""

    id: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class TypeDefinition:
    """A user-defined enum, domain, composite, range or multirange type that a table's column uses (directly or nested).

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
