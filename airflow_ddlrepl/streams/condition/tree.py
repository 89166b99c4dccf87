"""This module defines the parts of a condition: values, and what is true, false or unknown about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.streams.condition.kinds import ACCESS, Kind


class Image(StrEnum):
    """An image is the state of a row before a change (OLD) or after it (NEW)."""

    OLD = "OLD"
    NEW = "NEW"


@dataclass(frozen=True, slots=True)
class Node:
    """A node is one part of a condition."""

    def children(self) -> Iterator[Node]:
        """Yield the nodes that this one is made of."""
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from (part for part in value if isinstance(part, Node))

    def walk(self) -> Iterator[Node]:
        """Yield the node and all that it is made of."""
        yield self
        for part in self.children():
            yield from part.walk()


@dataclass(frozen=True, slots=True)
class Value(Node):
    """A value is text, a number, a date or raw bytes, or NULL."""

    if TYPE_CHECKING:

        @property
        def kind(self) -> Kind | None:
            """Return the kind of the value; None where it may be any, as that of NULL."""


@dataclass(frozen=True, slots=True)
class Truth(Node):
    """A truth is TRUE, FALSE or unknown (NULL)."""


@dataclass(frozen=True, slots=True)
class Constant(Value):
    """This value is written in the condition. value None: NULL."""

    value: Any
    kind: Kind | None


@dataclass(frozen=True, slots=True)
class Attribute(Value):
    """This value is an attribute of an LCR. name: of the member function, or `extra.NAME` of an extra attribute."""

    variable: str
    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class ColumnValue(Value):
    """This value is a column's, before or after the change. use_old: an update's new value may be the old one."""

    variable: str
    image: Image
    column: str
    access: str
    use_old: bool = True

    @property
    def kind(self) -> Kind | None:
        """Return the kind that the Access… function gives."""
        return ACCESS[self.access]


@dataclass(frozen=True, slots=True)
class Column(Value):
    """This value is a column's in the condition of a subset rule, which says nothing of before and after."""

    name: str
    kind: Kind | None


@dataclass(frozen=True, slots=True)
class Field(Value):
    """This value is a field of a user message."""

    variable: str
    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Call(Value):
    """This value is what a function of SQL gives. name: in upper case, one of `functions.FUNCTIONS`."""

    name: str
    arguments: tuple[Value, ...]
    kind: Kind | None


@dataclass(frozen=True, slots=True)
class Case(Value):
    """This value is that of the first of several conditions that is true."""

    conditions: tuple[Truth, ...]
    values: tuple[Value, ...]
    otherwise: Value
    kind: Kind | None


@dataclass(frozen=True, slots=True)
class Arithmetic(Value):
    """This value is computed from two numbers. sign: + - * or /."""

    sign: str
    left: Value
    right: Value

    @property
    def kind(self) -> Kind | None:
        """Return the kind of all computed values."""
        return Kind.NUMBER


@dataclass(frozen=True, slots=True)
class Known(Truth):
    """This truth does not depend on anything any more. value None: unknown."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Comparison(Truth):
    """This truth compares two values. sign: = <> < <= > or >=."""

    sign: str
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class IsNull(Truth):
    """This truth says whether a value is NULL."""

    of: Value
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsAbsent(Truth):
    """This truth says whether a row LCR lacks a column: `get_value(…) IS NULL`."""

    variable: str
    image: Image
    column: str
    use_old: bool = True
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Among(Truth):
    """This truth says whether a value is one of several."""

    of: Value
    items: tuple[Value, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between(Truth):
    """This truth says whether a value lies between two others, these included."""

    of: Value
    low: Value
    high: Value
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Truth):
    """This truth says whether a text matches a pattern of LIKE. escape: empty when there is none."""

    of: Value
    pattern: str
    escape: str = ""
    negated: bool = False


@dataclass(frozen=True, slots=True)
class RegexpLike(Truth):
    """This truth says whether a regular expression is found in a text. flags: some of `i`, `c`."""

    of: Value
    pattern: str
    flags: str = ""


@dataclass(frozen=True, slots=True)
class Not(Truth):
    """This truth negates another one."""

    of: Truth


@dataclass(frozen=True, slots=True)
class All(Truth):
    """This truth joins others by AND."""

    of: tuple[Truth, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(Truth):
    """This truth joins others by OR."""

    of: tuple[Truth, ...]


@dataclass(frozen=True, slots=True)
class Holds(Truth):
    """This truth says whether a condition is true, and never unknown: `EXISTS (SELECT 1 FROM SYS.DUAL WHERE …)`."""

    of: Truth
