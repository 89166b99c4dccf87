"""ALTER TABLE … ATTACH PARTITION makes a table a partition of another one; its rows stay where they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Partition, Table


@dataclass(frozen=True, slots=True)
class AttachPartition(TableChange):
    """This change makes a table a partition; it belongs to the partition, not to its parent."""

    kind: ClassVar[str] = "attach_partition"
    partition: Partition

    def alter(self, table: Table) -> Table:
        """Return the table as a partition."""
        return table.with_(partition=self.partition)

    def describe(self) -> str:
        """Return the parent's name and the partition's bound."""
        return f"to {self.partition.of_name} {self.partition.bound}"


def spot(old: Table, new: Table) -> Iterator[AttachPartition]:
    """Yield a change when only the new shape is a partition."""
    if old.partition is None and new.partition is not None:
        yield AttachPartition(new.partition)
