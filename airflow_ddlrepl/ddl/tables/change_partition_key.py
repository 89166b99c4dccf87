"""A table becomes partitioned, stops being so, or is partitioned in another way. No server can alter that in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.sql.lexer import canonical
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class ChangePartitionKey(TableChange):
    """Texts like `RANGE (day)`; None: not partitioned."""

    kind: ClassVar[str] = "change_partition_key"
    old: str | None
    new: str | None

    def alter(self, table: Table) -> Table:
        return table.with_(partition_key=self.new)

    def describe(self) -> str:
        return f"{self.old or 'none'} -> {self.new or 'none'}"


def spot(old: Table, new: Table) -> Iterator[ChangePartitionKey]:
    """Partition keys differ."""
    if not partitioned_alike(old, new):
        yield ChangePartitionKey(old.partition_key, new.partition_key)


def partitioned_alike(one: Table, other: Table) -> bool:
    """In the same way, however it is spelled; or both not at all."""
    return canonical(one.partition_key or "") == canonical(other.partition_key or "")
