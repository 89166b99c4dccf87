"""This module defines the port of a change feed's values: how an engine's types are shown as Arrow types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import TypeDefinition

if TYPE_CHECKING:
    import pyarrow as pa


class NotShown(Exception):
    """This exception says why values of a column can't be shown; its text follows the column's name."""


class ChangeValues(Protocol):
    """Change values is the port that converts values of the trail into plain Arrow values.

    types: the definitions of the user-defined types of the column's table.
    """

    def shown_type(self, column: Column, types: Sequence[TypeDefinition] = ()) -> pa.DataType:
        """Return the Arrow type that shows every value of the column; a string where there is none of its own."""
        ...

    def is_number(self, column: Column, types: Sequence[TypeDefinition] = ()) -> bool:
        """Return whether the column's values are numbers, even where only a string shows every one of them."""
        ...

    def has_exact_text(self, column: Column, types: Sequence[TypeDefinition] = ()) -> bool:
        """Return whether the text of the column's values does not depend on a server's settings."""
        ...

    def shown(
        self,
        values: pa.Array,
        encoding: str,
        column: Column,
        as_type: pa.DataType,
        types: Sequence[TypeDefinition] = (),
    ) -> pa.Array:
        """Return the trail's values of the column as values of `as_type`: its `shown_type`, a wider one, or a string.

        encoding: of the values in the trail. Raises NotShown where a value has no equal in that type.
        """
        ...
