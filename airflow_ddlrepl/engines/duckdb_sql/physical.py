"""This module says how a target that holds values as types of its own tells DuckDB's equals of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from airflow_ddlrepl.model.types import DataType, TypeDefinition


class Physical(Protocol):
    """This function returns DuckDB's type for the values that a target holds of a source's type."""

    def __call__(self, of: DataType, types: Sequence[TypeDefinition] = ()) -> str:
        """Return DuckDB's type for a type; types: the definitions of the table's user-defined types."""
        ...
