"""CREATE TYPE and CREATE DOMAIN make a type that a table's columns use; a table can also stop using one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.types import TypeDefinition


@dataclass(frozen=True, slots=True)
class CreateType(TableChange):
    """This change says that a table uses a type for the first time; the target may have the type already."""

    kind: ClassVar[str] = "create_type"
    definition: TypeDefinition

    def alter(self, table: Table) -> Table:
        """Return the table with the type's definition."""
        return table.with_(types=(*table.types, self.definition))

    def describe(self) -> str:
        """Return the type's kind and name."""
        return f"{self.definition.kind} {self.definition.schema}.{self.definition.name}"


@dataclass(frozen=True, slots=True)
class ForgetType(TableChange):
    """This change says that no column of the table uses the type any more; the type itself may live on."""

    kind: ClassVar[str] = "forget_type"
    definition: TypeDefinition

    def alter(self, table: Table) -> Table:
        """Return the table without the type's definition."""
        return table.with_(types=tuple(t for t in table.types if t.id != self.definition.id))

    def describe(self) -> str:
        """Return the type's name."""
        return f"{self.definition.schema}.{self.definition.name}"


def spot(old: Table, new: Table) -> Iterator[CreateType]:
    """Yield a CreateType for each type that only the new shape uses, dependencies first."""
    known = {t.id for t in old.types}
    yield from (CreateType(t) for t in new.types if t.id not in known)


def spot_unused(old: Table, new: Table) -> Iterator[ForgetType]:
    """Yield a ForgetType for each type that only the old shape uses, the types that use others first."""
    used = {t.id for t in new.types}
    yield from (ForgetType(t) for t in reversed(old.types) if t.id not in used)
