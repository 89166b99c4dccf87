"""CREATE TYPE, CREATE DOMAIN: a type that the table's columns use from now on; and the one they use no more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.types import TypeDefinition


@dataclass(frozen=True, slots=True)
class CreateType(TableChange):
    """The type is new to this table; the target may have it already."""

    kind: ClassVar[str] = "create_type"
    definition: TypeDefinition

    def alter(self, table: Table) -> Table:
        return table.with_(types=(*table.types, self.definition))

    def describe(self) -> str:
        return f"{self.definition.kind} {self.definition.schema}.{self.definition.name}"


@dataclass(frozen=True, slots=True)
class ForgetType(TableChange):
    """No column uses the type any more. The type itself may live on."""

    kind: ClassVar[str] = "forget_type"
    definition: TypeDefinition

    def alter(self, table: Table) -> Table:
        return table.with_(types=tuple(t for t in table.types if t.oid != self.definition.oid))

    def describe(self) -> str:
        return f"{self.definition.schema}.{self.definition.name}"


def spot(old: Table, new: Table) -> Iterator[CreateType]:
    """Types whose identity is new, dependencies first."""
    known = {t.oid for t in old.types}
    yield from (CreateType(t) for t in new.types if t.oid not in known)


def spot_forgotten(old: Table, new: Table) -> Iterator[ForgetType]:
    """Types that only the old shape used, users first."""
    used = {t.oid for t in new.types}
    yield from (ForgetType(t) for t in reversed(old.types) if t.oid not in used)
