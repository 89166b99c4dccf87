"""This module defines the port of types: what one kind of database does to the values of its types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Protocol

from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import OTHER, DataType, TypeDefinition, TypeFamily


class Equality(Enum):
    """An equality says how the values of a key column compare: by their bytes, or in another way."""

    BYTES = "equal bytes"
    BLANKS = "trailing blanks don't count"
    FLOAT = "-0 is 0, NaN is NaN"
    NUMERIC = "1 is 1.00, binary"
    NUMERIC_TEXT = "1 is 1.00, text"
    TARGET = "only the target can decide"


class Cast(StrEnum):
    """A cast says whether changing a column's type, without a USING clause, gives the same values on every server."""

    SAME_EVERYWHERE = "same everywhere"
    BY_TIME_ZONE = "depends on the session's time zone"
    UNKNOWN = "not known to be the same everywhere"


@dataclass(frozen=True, slots=True)
class Held:
    """A held type is what a column is at a target of another kind of database than the source."""

    type: DataType
    loss: str = ""  # what of the values, or of what the type does with them, is lost there; empty: nothing


class TypeSystem(Protocol):
    """A type system is the port that answers what one kind of database does to the values of its types."""

    @property
    def text(self) -> DataType:
        """Return the type that can hold the text of any value, for values of types that a target lacks."""
        ...

    def family(self, of: DataType, types: Sequence[TypeDefinition] = ()) -> TypeFamily:
        """Return the family of a type of this system; `other` where it is no source's.

        types: the definitions of the user-defined types of its table.
        """
        return OTHER

    def representation(self, of: TypeFamily) -> Held:
        """Return the type of this system that has the values of a family, and what of them is lost."""
        return Held(self.text, "" if of == OTHER else "it is a text")

    def has(self, of: DataType) -> bool:
        """Return whether every database of this kind has the type, whatever was installed or created in it."""
        return True

    def cast(self, old: DataType, new: DataType) -> Cast:
        """Return how far changing a column's type without a USING clause gives the same values everywhere."""
        return Cast.SAME_EVERYWHERE if self.widens(old, new) else Cast.UNKNOWN

    def alters(self, old: DataType, new: DataType) -> bool:
        """Return whether a column can get another type where its values stay; else its table is loaded again."""
        return True

    def explicit_cast(self, old: DataType, new: DataType) -> Cast:
        """Return how far `USING c::type` gives the same values everywhere."""
        return self.cast(old, new)

    def cast_by_text(self, old: DataType, new: DataType) -> Cast:
        """Return how far `USING c::text::type` gives the same values everywhere."""
        return self.cast(old, new)

    def widens(self, old: DataType, new: DataType) -> bool:
        """Return whether every value of the old type is valid in the new type, and is the same value there."""
        ...

    def holds_any_text(self, of: DataType) -> bool:
        """Return whether the type, or the element type of its arrays, can hold any text without loss."""
        return self.widens(self.text, of)

    def is_exact_number(self, of: DataType) -> bool:
        """Return whether the type's arithmetic gives the same numbers everywhere."""
        return False

    def why_no_default(self, column: Column, types: Sequence[TypeDefinition] = ()) -> str:
        """Return why this kind of database may not give a column's default the source's values; empty: it gives them.

        types: the definitions of the user-defined types of its table.
        """
        return ""

    def empty_value(self, of: DataType) -> str | None:
        """Return the SQL of what a mandatory column of this type shows where no value was passed; None: none does."""
        return None

    def equality(self, column: Column, encoding: str, types: Sequence[TypeDefinition] = ()) -> Equality:
        """Return how the values of this key column compare; `types` has the definitions of the types in use.

        encoding: of the values in the trail.
        """
        ...
