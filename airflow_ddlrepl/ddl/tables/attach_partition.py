"""ALTER TABLE … ATTACH PARTITION: a table becomes part of a partitioned one. Its rows stay where they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Partition, Table


@dataclass(frozen=True, slots=True)
class AttachPartition(TableChange):
    """Seen from the partition."""

    kind: ClassVar[str] = "attach_partition"
    partition: Partition

    def alter(self, table: Table) -> Table:
        return table.with_(partition=self.partition)

    def describe(self) -> str:
        return f"to {self.partition.of_name} {self.partition.bound}"


def spot(old: Table, new: Table) -> Iterator[AttachPartition]:
    """After a table with another parent or bound was detached."""
    if old.partition is None and new.partition is not None:
        yield AttachPartition(new.partition)
