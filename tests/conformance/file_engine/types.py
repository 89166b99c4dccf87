"""The types of a target of files: every value is a text."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType, Family, TypeDefinition, TypeFamily
from airflow_ddlrepl.ports.types import Equality, TypeSystem

BYTEWISE = frozenset(["int2", "int4", "int8", "text", "varchar", "uuid"])
INTEGERS = ("int2", "int4", "int8")


class FileTypes(TypeSystem):
    """A value is the same in another type where its text is."""

    @property
    def text(self) -> DataType:
        return DataType("text", "pg_catalog", "text")

    def family(self, of: DataType, types: Sequence[TypeDefinition] = ()) -> TypeFamily:
        return TypeFamily(Family.INT, bits=64) if of.name == "int8" else TypeFamily(Family.TEXT)

    def has(self, of: DataType) -> bool:
        return of.is_builtin

    def widens(self, old: DataType, new: DataType) -> bool:
        is_wider = (
            old.name in INTEGERS and new.name in INTEGERS and INTEGERS.index(old.name) <= INTEGERS.index(new.name)
        )
        return new.name == "text" or is_wider

    def is_exact_number(self, of: DataType) -> bool:
        return of.name in INTEGERS

    def equality(self, column: Column, encoding: str, types: Sequence[TypeDefinition] = ()) -> Equality:
        return Equality.BYTES if column.type.name in BYTEWISE else Equality.TARGET


FILE_TYPES = FileTypes()
