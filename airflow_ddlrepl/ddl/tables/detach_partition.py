"""ALTER TABLE … DETACH PARTITION: a partition becomes a table of its own and keeps its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Partition, Table


@dataclass(frozen=True, slots=True)
class DetachPartition(TableChange):
    """Seen from the partition."""

    kind: ClassVar[str] = "detach_partition"
    partition: Partition

    def alter(self, table: Table) -> Table:
        return table.with_(partition=None)

    def describe(self) -> str:
        return f"from {self.partition.of_name}"


def spot(old: Table, new: Table) -> Iterator[DetachPartition]:
    """No parent any more, another one, or another bound."""
    if old.partition is None:
        return
    if new.partition is None or (old.partition.of, old.partition.bound) != (new.partition.of, new.partition.bound):
        yield DetachPartition(old.partition)
