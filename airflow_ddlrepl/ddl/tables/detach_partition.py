"""ALTER TABLE … DETACH PARTITION makes a partition a table of its own; its rows stay in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Partition, Table


@dataclass(frozen=True, slots=True)
class DetachPartition(TableChange):
    """This change makes a partition a table of its own; it belongs to the partition, not to its parent."""

    kind: ClassVar[str] = "detach_partition"
    partition: Partition

    def alter(self, table: Table) -> Table:
        """Return the table as no partition."""
        return table.with_(partition=None)

    def describe(self) -> str:
        """Return the parent's name."""
        return f"from {self.partition.of_name}"


def spot(old: Table, new: Table) -> Iterator[DetachPartition]:
    """Yield a change when the old shape is a partition, and the new one has no parent, another one or another bound."""
    if old.partition is None:
        return
    if new.partition is None or (old.partition.of, old.partition.bound) != (new.partition.of, new.partition.bound):
        yield DetachPartition(old.partition)
