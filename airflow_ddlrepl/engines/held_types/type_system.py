"""This module has the answers about types that are the same wherever columns are held as types of the target's own."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from airflow_ddlrepl.engines.held_types.type_names import decimal_size
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeKind
from airflow_ddlrepl.ports.types import Equality, TypeSystem

_TEXTS = frozenset(["text", "varchar", "character varying", "name"])


class HeldTypes(TypeSystem):
    """Columns have the source's types, and are held as the target's. whole: its integers. any_text: its texts."""

    whole: ClassVar[Sequence[str]]
    any_text: ClassVar[str]

    @abstractmethod
    def type_name(self, of: DataType, types: Sequence[TypeDefinition] = ()) -> str:
        """Return the target's name of the type that a type is held as. types: the table's user-defined types."""

    @property
    def text(self) -> DataType:
        return DataType("text", "pg_catalog", "text", id=25)

    def holds_any_text(self, of: DataType) -> bool:
        return self.type_name(of) == self.any_text

    def is_exact_number(self, of: DataType) -> bool:
        held = self.type_name(of)
        return held in self.whole or decimal_size(held) is not None

    def equality(self, column: Column, encoding: str, types: Sequence[TypeDefinition] = ()) -> Equality:
        held = self.type_name(column.type, types)
        if held in ("FLOAT", "DOUBLE"):
            return Equality.FLOAT
        if decimal_size(held) is not None:
            return Equality.NUMERIC if encoding == "binary" else Equality.NUMERIC_TEXT
        return Equality.BYTES  # as a text 1.0 is another key than 1.00, and blanks at the end count


def widens_text(old: DataType, new: DataType) -> bool:
    """Is every text of the old type one of the new type, without any other change? Both are types of a source."""
    if not (_is_text(old) and _is_text(new)):
        return False
    here, there = _length(old), _length(new)
    return there is None or (here is not None and here <= there)


def is_any_text(of: DataType) -> bool:
    """Is it a source's type of texts of any length?"""
    return _is_text(of) and _length(of) is None


def _is_text(of: DataType) -> bool:
    return of.is_builtin and of.kind is TypeKind.BASE and of.name in _TEXTS


def _length(of: DataType) -> int | None:
    found = re.search(r"\((\d+)\)", of.text)
    return int(found[1]) if found else None
