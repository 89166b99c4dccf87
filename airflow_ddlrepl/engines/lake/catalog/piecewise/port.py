"""This module is the port of a catalog that changes one table at a time."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from airflow_ddlrepl.engines.lake.connection.conflicts import name_refused
from airflow_ddlrepl.model.names import TableName

Metadata = Mapping[str, Any]
"""What a metadata file has."""


class OneByOne(ABC):
    """A catalog of tables; nobody else writes between what each of its steps looks at and what it changes."""

    names: ClassVar[re.Pattern[str]]
    """Names of tables and namespaces that the catalog takes, and no other."""
    rule: ClassVar[str]
    """The same, for people."""

    def of(self, name: TableName) -> str | None:
        """Return the path of the metadata file that a table has now; None: there is none of this name.

        Raises Unsupported ADP-110 for a name that the catalog does not take, Unreachable where it does not answer.
        """
        for part in name:
            if self.names.fullmatch(part) is None:
                raise name_refused(name, self.rule)
        return self.find(name)

    @abstractmethod
    def find(self, name: TableName) -> str | None:
        """Return the path of the metadata file of a table whose name is good; None: there is none."""

    @abstractmethod
    def kinds(self) -> dict[TableName, str]:
        """Return whether each object of the catalog is a `table` or a `view`, by its name."""

    @abstractmethod
    def add(self, name: TableName, path: str, metadata: Metadata) -> None:
        """Add a table, and its namespace. path, metadata: its metadata file, and what that has.

        Raises CannotAdapt ADP-104 where there is one of that name.
        """

    @abstractmethod
    def swap(self, name: TableName, base: str, path: str, metadata: Metadata) -> None:
        """Move a table from one metadata file to the next. path, metadata: the next one, and what that has.

        Raises WrittenMeanwhile TGT-112 where it has another one than `base` by now, or is gone.
        """

    @abstractmethod
    def drop(self, name: TableName, last: str) -> None:
        """Remove a table; its files stay. Raises WrittenMeanwhile TGT-112 where it has another metadata file by now."""

    def remove_old(self, name: TableName, before: float) -> int:
        """Remove the metadata files of a table that the catalog has made itself and no metadata names any more.

        before: the moment, in seconds since 1970, before which they were written. Return how many there were.
        """
        return 0

    @abstractmethod
    def require_able(self) -> None:
        """Raise what is in the way of a catalog that can be read."""
