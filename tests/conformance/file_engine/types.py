"""The types of a target of files: every value is a text."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import OTHER, DataType, TypeDefinition, TypeFamily
from airflow_ddlrepl.ports.types import Cast, Equality, Held, TypeSystem

BYTEWISE = frozenset(["int2", "int4", "int8", "text", "varchar", "uuid"])
INTEGERS = ("int2", "int4", "int8")


class FileTypes(TypeSystem):
    """A value is the same in another type where its text is."""

    @property
    def text(self) -> DataType:
        return DataType("text", "pg_catalog", "text")

    def representation(self, of: TypeFamily) -> Held:
        return Held(self.text, "" if of == OTHER else "it is a text")

    def has(self, of: DataType) -> bool:
        return of.is_builtin

    def cast(self, old: DataType, new: DataType) -> Cast:
        return Cast.SAME_EVERYWHERE if self.widens(old, new) else Cast.UNKNOWN

    def explicit_cast(self, old: DataType, new: DataType) -> Cast:
        return self.cast(old, new)

    def cast_by_text(self, old: DataType, new: DataType) -> Cast:
        return self.cast(old, new)

    def widens(self, old: DataType, new: DataType) -> bool:
        is_wider = (
            old.name in INTEGERS and new.name in INTEGERS and INTEGERS.index(old.name) <= INTEGERS.index(new.name)
        )
        return new.name == "text" or is_wider

    def holds_any_text(self, of: DataType) -> bool:
        return True

    def is_exact_number(self, of: DataType) -> bool:
        return of.name in INTEGERS

    def empty_value(self, of: DataType) -> str | None:
        return None

    def equality(self, column: Column, encoding: str, types: Sequence[TypeDefinition] = ()) -> Equality:
        return Equality.BYTES if column.type.name in BYTEWISE else Equality.TARGET


FILE_TYPES = FileTypes()
