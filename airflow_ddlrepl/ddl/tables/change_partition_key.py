"""This change makes a table partitioned, ends that, or partitions it otherwise; no server can alter it in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.base.same_shape import partitioned_alike
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class ChangePartitionKey(TableChange):
    """This change sets a table's partition key, a text like `RANGE (day)`; None: the table is not partitioned."""

    kind: ClassVar[str] = "change_partition_key"
    old: str | None
    new: str | None

    def alter(self, table: Table) -> Table:
        """Return the table with the new partition key."""
        return table.with_(partition_key=self.new)

    def describe(self) -> str:
        """Return the old and the new partition key."""
        return f"{self.old or 'none'} -> {self.new or 'none'}"


def spot(old: Table, new: Table) -> Iterator[ChangePartitionKey]:
    """Yield a change when the partition keys differ."""
    if not partitioned_alike(old, new):
        yield ChangePartitionKey(old.partition_key, new.partition_key)
