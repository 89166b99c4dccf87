"""A schema change is a value that turns one shape of a table into the next one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from airflow_ddlrepl.model.table import Table


class SchemaChange(ABC):
    """A schema change is one difference between two shapes of a table; it prints as `rename_column a -> b`."""

    __slots__ = ()
    kind: ClassVar[str]

    @abstractmethod
    def apply(self, shape: Table | None) -> Table | None:
        """Return the table's shape after the change; None: the table does not exist before or after it."""

    @abstractmethod
    def describe(self) -> str:
        """Return what changes in a few words, without the name of the kind."""

    @property
    def hazards(self) -> tuple[str, ...]:
        """Return warnings that a person should read before the change runs at a target."""
        return ()

    @property
    def losses(self) -> tuple[str, ...]:
        """Return those of the hazards by which values are lost at a target."""
        return ()

    def __str__(self) -> str:
        return f"{self.kind} {self.describe()}".strip()


class TableChange(SchemaChange):
    """A table change alters a table that exists before and after it."""

    __slots__ = ()

    def apply(self, shape: Table | None) -> Table:
        """Return the table's shape after the change; raise ValueError where there is no table."""
        if shape is None:
            raise ValueError(f"{self} needs a table")
        return self.alter(shape)

    @abstractmethod
    def alter(self, table: Table) -> Table:
        """Return the table's shape after the change."""
