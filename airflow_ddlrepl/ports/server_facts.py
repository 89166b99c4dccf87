"""This module is the port of what exists at a target's server."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from airflow_ddlrepl.errors import StrangeOwner
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table, TableObject
from airflow_ddlrepl.ports.server_traits import ServerTraits
from airflow_ddlrepl.ports.types import TypeSystem

NEWEST = 18
"""The newest version of the sources whose shapes a target holds: what no version of its own denies it, it has."""


class ServerFacts(Protocol):
    """Server facts are what exists at a target's server now: types, tables, rows. Each is queried once.

    What an engine does not answer, its kind of database does not have, or holds without being asked.
    """

    @property
    def version(self) -> int:
        """Return the server's major version, in the numbers of the sources whose shapes it holds."""
        return NEWEST

    @property
    def type_system(self) -> TypeSystem:
        """Return the type system of the server: what its types do to values."""
        ...

    @property
    def extensions(self) -> frozenset[str]:
        """Return the extensions that the database has."""
        return frozenset()

    @property
    def traits(self) -> ServerTraits | None:
        """Return what the results of the server's expressions depend on; None: it computes nothing."""
        return None

    def has_collation(self, name: str) -> bool:
        """Return whether the database has a collation. name: as columns name it, with its schema."""
        return True

    def has_builtin(self, name: str) -> bool:
        """Return whether the server can hold values of a built-in type; some are built without one."""
        return True

    def table(self, name: TableName) -> Table | None:
        """Return the shape of the table of that name; None when there is none."""
        ...

    def look(self, names: Collection[TableName]) -> None:
        """Read the shapes of all of these tables at once, so that `table` has them."""
        return None

    def objects(self, names: Collection[TableName]) -> list[TableObject]:
        """Return what is made on these tables besides their columns: keys, checks, indexes, triggers."""
        return []

    def broken_references(self, names: Collection[TableName]) -> list[tuple[TableName, str]]:
        """Return the foreign keys of these tables that rows break, by table and name; all rows are read."""
        return []

    def types(self, names: Collection[TableName]) -> frozenset[TableName]:
        """Return those of these names under which a type exists."""
        return frozenset(names)

    def strange(self, functions: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Return those of these functions (schema, name) that are neither this role's nor an administrator's."""
        return frozenset()

    def lacking(self, functions: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Return those of these functions (schema, name) that the database does not have."""
        return frozenset()

    def owned_by_strangers(self, tables: Collection[Table]) -> Mapping[TableName, StrangeOwner]:
        """Return the error of each of these tables that would use what belongs to a role that is not trusted there.

        tables: named as at the target, with the types that they will have.
        """
        return {}

    def filled_partitions(
        self, tables: Collection[TableName], known: Collection[TableName]
    ) -> list[tuple[TableName, TableName]]:
        """Return partitions below these tables that are none of the known ones and have rows, each with its table."""
        return []

    def has_rows(self, name: TableName) -> bool:
        """Is there a table of that name, with a row in it? Where nobody has looked, there may be one."""
        return self.table(name) is not None
