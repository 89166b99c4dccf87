"""This module defines data types as the source's catalog describes them, and the families that every engine knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from airflow_ddlrepl.model.stored_names import SYSTEM_SCHEMA


class TypeKind(StrEnum):
    """A kind of type says how a type is made of others; arrays of any are one kind."""

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

    What it is to another engine, its family tells (`ports.types.TypeSystem.family`).
    """

    text: str  # as DDL spells it, qualified and quoted unless it is built in: `numeric(12,2)`, `shop."Status"[]`
    schema: str  # of the type without modifiers; for arrays those of the element type
    name: str
    kind: TypeKind = TypeKind.BASE
    id: int = 0  # the engine's own number of the type, the same as long as the type is; 0: not known
    modifier: int = -1  # the engine's own number for what the text has in parentheses; -1: nothing
    extension: str | None = None  # the extension that brings the type, if any

    @property
    def is_builtin(self) -> bool:
        """Return whether every database of its kind has the type, and no user has made it."""
        return self.schema == SYSTEM_SCHEMA


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
    id: as in DataType. labels: of an enum, in order. attributes: of a composite. base: of a domain or range, as DDL
    text with its modifier; of a multirange its range. constraints: of a domain, (name, `CHECK (…)` text).
    not_null, default: of a domain.
    """

    id: int
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


def below_domains(of: DataType, types: Sequence[TypeDefinition]) -> str | None:
    """Return the text of the built-in type below all domains; None where the type is not made of one alone."""
    if of.kind is TypeKind.BASE:
        return of.text if of.is_builtin else None
    if of.kind is not TypeKind.DOMAIN:
        return None
    by_name = {(one.schema, one.name): one for one in types}
    found, base = by_name.get((of.schema, of.name)), None
    while found is not None and found.kind is TypeKind.DOMAIN:
        base = found.base or ""
        schema, _, name = base.partition(".")
        found = by_name.get((schema.strip('"'), name.strip('"'))) if name else None
    return base if found is None else None


class Family(StrEnum):
    """A family is a kind of values that many engines have a type for; `other` has those that few know.

    The type system of the engine that a type comes from tells its family, and another engine's type system tells by it
    what a column may be there. A family is worked out when it is needed, and is stored nowhere.
    """

    BOOLEAN = "boolean"
    INT = "int"
    DECIMAL = "decimal"
    FLOAT = "float"
    TEXT = "text"
    BYTES = "bytes"
    UUID = "uuid"
    DATE = "date"
    TIME = "time"
    TIME_TZ = "time with zone"
    TIMESTAMP = "timestamp"
    TIMESTAMP_TZ = "timestamp with zone"
    INTERVAL = "interval"
    JSON = "json"
    ARRAY = "array"
    STRUCT = "struct"
    ENUM = "enum"
    RANGE = "range"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TypeFamily:
    """A type family is the family of a type with its arguments; None stands for an argument that the type lacks."""

    kind: Family
    bits: int | None = None  # of an int, which has a sign (8, 16, 32, 64), or of a float (32, 64)
    precision: int | None = None  # digits of a decimal; None: any number of them
    scale: int | None = None  # digits of a decimal behind the point; of a second's fraction, in types of time
    length: int | None = None  # the most characters of a text
    is_padded: bool = False  # blanks at a text's end don't count
    element: TypeFamily | None = None  # of an array, which may have any number of dimensions, or of a range's bounds
    fields: tuple[tuple[str, TypeFamily], ...] = ()  # of a struct, by name
    labels: tuple[str, ...] = ()  # of an enum, in order; empty where they are not known

    def __str__(self) -> str:
        sizes = {
            Family.INT: (self.bits,),
            Family.FLOAT: (self.bits,),
            Family.DECIMAL: (self.precision, self.scale),
            Family.TEXT: (self.length,),
        }
        known = ", ".join(str(one) for one in sizes.get(self.kind, (self.scale,)) if one is not None)
        inner = f" of {self.element}" if self.element is not None else ""
        return f"{self.kind}{f'({known})' if known else ''}{inner}"


OTHER = TypeFamily(Family.OTHER)
