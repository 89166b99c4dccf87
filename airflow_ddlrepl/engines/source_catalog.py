"""This module is the port of a source's catalog: which tables a source has, and their shapes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from airflow_ddlrepl.config.condition.expression import Part as Condition
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_object import TableObject
from airflow_ddlrepl.model.visibility import Visibility


@dataclass(frozen=True, slots=True)
class Catalog:
    """A catalog has the shapes of all tables of a source at one moment.

    version: changes with any table's shape. tables: None when the version was the expected one.
    locked: ids of tables that an open transaction is altering; their shapes are not among `tables`.
    seen: the transactions whose changes the shapes contain.
    """

    version: str
    tables: list[Table] | None
    locked: frozenset[int]
    seen: Visibility


class SourceCatalog(Protocol):
    """The source's catalog has the tables that the source has now: their names, shapes and sizes."""

    def inspect(self, table_ids: Collection[int]) -> list[Table]:
        """Return the shapes of those of these tables that exist."""
        ...

    def objects(self, table_ids: Collection[int]) -> list[TableObject]:
        """Return what is made on these tables besides their columns: keys, checks, indexes, triggers."""
        ...

    def function_text(self, signature: str) -> str:
        """Return the statement that creates a function, named with its types; empty when the source has none such."""
        ...

    def inspect_catalog(self, known: str) -> Catalog:
        """Return every table's shape but of those that an open transaction is altering.

        known: a version of the catalog; where it is still that, no shapes are read.
        """
        ...

    def list_tables(self) -> dict[int, TableName]:
        """Return ids and names of all tables that could be in a channel, by name."""
        ...

    def with_partitions(self, table_ids: Collection[int]) -> dict[int, TableName]:
        """Return those of these tables that exist, and the partitions of the partitioned ones, by id."""
        ...

    def sizes(self, table_ids: Collection[int]) -> Mapping[int, int]:
        """Return how many bytes each of these tables takes on disk; nothing where one of them is locked."""
        ...

    def estimated_rows(self, names: Collection[TableName]) -> Mapping[TableName, int]:
        """Return how many rows each of these tables has by the source's statistics; 0 where they have no number."""
        ...

    def publishes_generated(self) -> bool:
        """Are values of generated columns in the log?"""
        ...

    def check_condition(self, condition: Condition, table: Table, columns: Sequence[Column]) -> None:
        """Raise Unsupported ADP-148 unless the source can evaluate a condition that reads these columns."""
        ...
