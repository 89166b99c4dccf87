"""This module defines the declarative transformations of row LCRs, and the order in which a rule's are done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.messages import Command, RowLcr


class ValueType(StrEnum):
    """A value type says in which images of a row LCR a transformation changes a column."""

    OLD = "OLD"
    NEW = "NEW"
    BOTH = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared(ABC):
    """A declared transformation changes a row LCR without anybody's code.

    step: transformations are done by increasing number; those of one number by `order`. procedure: that declares it.
    """

    order: ClassVar[int] = 0
    procedure: ClassVar[str] = ""
    step: int = 0

    def __post_init__(self) -> None:
        if self.step < 0:
            raise RuleError(
                f"the step number {self.step} of {self} is negative", code="RUL-121", hint="step numbers begin with 0"
            )

    @abstractmethod
    def apply(self, lcr: RowLcr) -> RowLcr:
        """Return the changed LCR; the same object where there is nothing to change. Raises RuleError RUL-122."""


@dataclass(frozen=True, slots=True)
class KeepColumns(Declared):
    """This transformation removes all columns but those of a list."""

    order: ClassVar[int] = 1
    procedure: ClassVar[str] = "keep_columns"
    table: str
    columns: tuple[str, ...]
    value_type: ValueType = ValueType.BOTH

    def apply(self, lcr: RowLcr) -> RowLcr:
        return _by_images(
            self.table, self.value_type, lcr, lambda row: {k: v for k, v in row.items() if k in self.columns}
        )


@dataclass(frozen=True, slots=True)
class DeleteColumn(Declared):
    """This transformation removes a column; an LCR without the column stays as it is."""

    order: ClassVar[int] = 2
    procedure: ClassVar[str] = "delete_column"
    table: str
    column: str
    value_type: ValueType = ValueType.BOTH

    def apply(self, lcr: RowLcr) -> RowLcr:
        return _by_images(
            self.table, self.value_type, lcr, lambda row: {k: v for k, v in row.items() if k != self.column}
        )


@dataclass(frozen=True, slots=True)
class RenameColumn(Declared):
    """This transformation renames a column; an LCR without the column stays as it is."""

    order: ClassVar[int] = 3
    procedure: ClassVar[str] = "rename_column"
    table: str
    column: str
    to: str
    value_type: ValueType = ValueType.BOTH

    def apply(self, lcr: RowLcr) -> RowLcr:
        def renamed(row: dict[str, Any]) -> dict[str, Any]:
            if self.column in row and self.to in row and self.to != self.column:
                raise _clash(self, lcr, self.to)
            return {self.to if k == self.column else k: v for k, v in row.items()}

        return _by_images(self.table, self.value_type, lcr, renamed)


@dataclass(frozen=True, slots=True)
class AddColumn(Declared):
    """This transformation adds a column with a value; an image that an LCR does not have is not made."""

    order: ClassVar[int] = 4
    procedure: ClassVar[str] = "add_column"
    table: str
    column: str
    value: Any
    value_type: ValueType = ValueType.NEW

    def apply(self, lcr: RowLcr) -> RowLcr:
        def added(row: dict[str, Any]) -> dict[str, Any]:
            if self.column in row:
                raise _clash(self, lcr, self.column)
            return {**row, self.column: self.value}

        return _by_images(self.table, self.value_type, lcr, added)


@dataclass(frozen=True, slots=True)
class RenameTable(Declared):
    """This transformation renames a table, and its schema where the two names have different ones."""

    order: ClassVar[int] = 5
    procedure: ClassVar[str] = "rename_table"
    table: str
    to: str

    def apply(self, lcr: RowLcr) -> RowLcr:
        if f"{lcr.owner}.{lcr.name}" != self.table:
            return lcr
        owner, name = self.to.split(".", 1)
        return replace(lcr, owner=owner, name=name)


@dataclass(frozen=True, slots=True)
class RenameSchema(Declared):
    """This transformation renames the schema of a table."""

    order: ClassVar[int] = 6
    procedure: ClassVar[str] = "rename_schema"
    schema: str
    to: str

    def apply(self, lcr: RowLcr) -> RowLcr:
        return replace(lcr, owner=self.to) if lcr.owner == self.schema else lcr


def in_order(declared: Iterable[Declared]) -> list[Declared]:
    """Return a rule's transformations as they are done: by step number, then by kind, then as they were declared."""
    return sorted(declared, key=lambda one: (one.step, one.order))


def transformed(lcr: RowLcr, declared: Iterable[Declared]) -> RowLcr:
    """Return an LCR as a rule's declared transformations leave it; each one works on what those before it have made.

    Raises RuleError RUL-122 where a column would be there twice.
    """
    for one in in_order(declared):
        lcr = one.apply(lcr)
    return lcr


def _by_images(table: str, value_type: ValueType, lcr: RowLcr, change: Any) -> RowLcr:
    """Change the images of an LCR of the table that it has, and that the value type names."""
    if f"{lcr.owner}.{lcr.name}" != table:
        return lcr
    old, new = lcr.old, lcr.new
    if lcr.command is not Command.INSERT and value_type is not ValueType.NEW:
        old = change(dict(old))
    if lcr.command is not Command.DELETE and value_type is not ValueType.OLD:
        new = change(dict(new))
    return replace(lcr, old=old, new=new)


def _clash(what: Declared, lcr: RowLcr, column: str) -> RuleError:
    return RuleError(
        f"{what.procedure}: the row LCR of {lcr.owner}.{lcr.name} has a column {column} already",
        code="RUL-122",
        table=f"{lcr.owner}.{lcr.name}",
        hint="change or remove the transformation; the change waits",
    )
