"""The port of types: what one kind of database does to the values of its types."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import TypeDefinition


class Equality(Enum):
    """The values of a key column compare in one of these ways."""

    BYTES = "equal bytes"
    BLANKS = "trailing blanks don't count"
    FLOAT = "-0 is 0, NaN is NaN"
    NUMERIC = "1 is 1.00, send format"
    NUMERIC_TEXT = "1 is 1.00, text"
    TARGET = "only the target can decide"


class TypeSystem(Protocol):
    """The types of one kind of database, and what it does to their values."""

    def equality(self, column: Column, encoding: str, types: Sequence[TypeDefinition] = ()) -> Equality:
        """Return how the values of this key column compare; `types` has the definitions of the types in use.

        encoding: of the values in the trail.
        """
        ...
