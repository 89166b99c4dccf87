"""This module defines the parts of a condition over one row (`restrict` in a channel file), which print as SQL.

No text of a person reaches a server: `condition/parser.py` parses it, and the SQL is written from the parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Spell = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Spelling:
    """A spelling says how columns and texts are quoted: for a server's SQL, or for a person."""

    column: Spell
    text: Spell


@dataclass(frozen=True, slots=True)
class Part(ABC):
    """A part is one node of a condition's expression tree; `parts` are its children."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return the parts that this one is made of."""
        return ()

    @abstractmethod
    def sql(self, by: Spelling) -> str:
        """Return the part as SQL, in parentheses where it needs them."""

    def walk(self) -> Iterator[Part]:
        """Yield the part itself and all that it is made of."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def names(self) -> tuple[str, ...]:
        """Return the names of the columns that the part mentions, each once, in their order."""
        return tuple(dict.fromkeys(part.name for part in self.walk() if isinstance(part, Named)))


@dataclass(frozen=True, slots=True)
class Named(Part):
    """This part is a column, by its name."""

    name: str

    def sql(self, by: Spelling) -> str:
        return by.column(self.name)


@dataclass(frozen=True, slots=True)
class OfChange(Part):
    """This part is a value of the change that brings a row, such as `{commit_time}`."""

    name: str

    def sql(self, by: Spelling) -> str:
        return f"{{{self.name}}}"


@dataclass(frozen=True, slots=True)
class Text(Part):
    """This part is a constant in quotes; what type it has follows from what it is compared with, or cast to."""

    value: str

    def sql(self, by: Spelling) -> str:
        return by.text(self.value)


@dataclass(frozen=True, slots=True)
class Number(Part):
    """This part is a number, in the digits that were written."""

    digits: str

    def sql(self, by: Spelling) -> str:
        return self.digits


@dataclass(frozen=True, slots=True)
class Truth(Part):
    """This part is TRUE or FALSE."""

    value: bool

    def sql(self, by: Spelling) -> str:
        return str(self.value).upper()


@dataclass(frozen=True, slots=True)
class Cast(Part):
    """This part casts another one: `of::type`.

    type: one of `condition/parser.py`'s TYPES.
    """

    of: Part
    type: str

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.of,)

    def sql(self, by: Spelling) -> str:
        return f"CAST({self.of.sql(by)} AS {self.type})"


@dataclass(frozen=True, slots=True)
class Minus(Part):
    """This part negates a number."""

    of: Part

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.of,)

    def sql(self, by: Spelling) -> str:
        return f"(- {self.of.sql(by)})"


@dataclass(frozen=True, slots=True)
class _Pair(Part):
    left: Part
    sign: str
    right: Part

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.left, self.right)

    def sql(self, by: Spelling) -> str:
        return f"({self.left.sql(by)} {self.sign} {self.right.sql(by)})"


@dataclass(frozen=True, slots=True)
class Arithmetic(_Pair):
    """This part computes a number from two others.

    sign: + - * %
    """


@dataclass(frozen=True, slots=True)
class Compare(_Pair):
    """This part compares two values.

    sign: = <> < <= > >= or IS [NOT] DISTINCT FROM.
    """

    @property
    def is_ordered(self) -> bool:
        """Does the comparison ask which of two values is greater?"""
        return self.sign in ("<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Like(Part):
    """This part says whether a text matches a pattern of LIKE."""

    of: Part
    pattern: Text
    negated: bool = False

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.of, self.pattern)

    def sql(self, by: Spelling) -> str:
        return f"({self.of.sql(by)} {_NOT[self.negated]}LIKE {self.pattern.sql(by)})"


@dataclass(frozen=True, slots=True)
class Among(Part):
    """This part says whether a value is one of several: `of IN (items)`."""

    of: Part
    items: tuple[Part, ...]
    negated: bool = False

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.of, *self.items)

    def sql(self, by: Spelling) -> str:
        listed = ", ".join(item.sql(by) for item in self.items)
        return f"({self.of.sql(by)} {_NOT[self.negated]}IN ({listed}))"


@dataclass(frozen=True, slots=True)
class Between(Part):
    """This part says whether a value lies between two others, these included."""

    of: Part
    low: Part
    high: Part
    negated: bool = False

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.of, self.low, self.high)

    def sql(self, by: Spelling) -> str:
        return f"({self.of.sql(by)} {_NOT[self.negated]}BETWEEN {self.low.sql(by)} AND {self.high.sql(by)})"


@dataclass(frozen=True, slots=True)
class IsNull(Part):
    """This part says whether a value is null."""

    of: Part
    negated: bool = False

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.of,)

    def sql(self, by: Spelling) -> str:
        return f"({self.of.sql(by)} IS {_NOT[self.negated]}NULL)"


@dataclass(frozen=True, slots=True)
class Not(Part):
    """This part negates a condition."""

    of: Part

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.of,)

    def sql(self, by: Spelling) -> str:
        return f"(NOT {self.of.sql(by)})"


@dataclass(frozen=True, slots=True)
class Joined(Part):
    """This part joins conditions.

    word: AND or OR.
    """

    word: str
    of: tuple[Part, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.of

    def sql(self, by: Spelling) -> str:
        return f"({f' {self.word} '.join(part.sql(by) for part in self.of)})"


_NOT = {False: "", True: "NOT "}
