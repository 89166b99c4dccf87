"""What every kind of schema change is: a value that turns one shape of a table into the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from airflow_ddlrepl.model.table import Table


class SchemaChange(ABC):
    """One difference between two shapes of a table. Prints as `kind what`, e.g. `rename_column a -> b`."""

    __slots__ = ()
    kind: ClassVar[str]

    @abstractmethod
    def apply(self, shape: Table | None) -> Table | None:
        """The shape afterwards."""

    @abstractmethod
    def describe(self) -> str:
        """What changes, in a few words; without the kind."""

    @property
    def hazards(self) -> tuple[str, ...]:
        """What a person should know before it runs at a target."""
        return ()

    def __str__(self) -> str:
        return f"{self.kind} {self.describe()}".strip()


class TableChange(SchemaChange):
    """A change of a table that exists before and after."""

    __slots__ = ()

    def apply(self, shape: Table | None) -> Table:
        if shape is None:
            raise ValueError(f"{self} needs a table")
        return self.alter(shape)

    @abstractmethod
    def alter(self, table: Table) -> Table:
        """The table afterwards."""
