"""An opaque change is a difference between two shapes that no other kind explains; adapt refuses it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.base.edit import comparable
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class Opaque(TableChange):
    """An opaque change says that a table differs in a way that no other kind of change explains.

    parts: names of the shape's parts that differ. table: the whole shape afterwards.
    """

    kind: ClassVar[str] = "opaque"
    parts: tuple[str, ...]
    table: Table

    def alter(self, table: Table) -> Table:
        """Return the whole new shape."""
        return self.table

    def describe(self) -> str:
        """Return the names of the parts that differ."""
        return ", ".join(self.parts)


def spot(old: Table, new: Table) -> Iterator[Opaque]:
    """Yield one opaque change when the shapes still differ after all other kinds were applied."""
    before, after = comparable(old), comparable(new)
    parts = tuple(f.name for f in fields(Table) if f.compare and getattr(before, f.name) != getattr(after, f.name))
    if parts:
        yield Opaque(parts, new)
