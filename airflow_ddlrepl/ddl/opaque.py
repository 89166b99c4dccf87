"""What is left over after all known differences are explained. Unknown is dangerous: it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.base.edit import settled
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class Opaque(TableChange):
    """parts: names of the shape's parts that differ. table: the whole shape afterwards."""

    kind: ClassVar[str] = "opaque"
    parts: tuple[str, ...]
    table: Table

    def alter(self, table: Table) -> Table:
        return self.table

    def describe(self) -> str:
        return ", ".join(self.parts)


def spot(old: Table, new: Table) -> Iterator[Opaque]:
    """Both shapes should be equal by now."""
    before, after = settled(old), settled(new)
    parts = tuple(f.name for f in fields(Table) if f.compare and getattr(before, f.name) != getattr(after, f.name))
    if parts:
        yield Opaque(parts, new)
