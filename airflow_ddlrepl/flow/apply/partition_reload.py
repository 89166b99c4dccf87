"""HVR loads a partitioned table again when one of its partitions is emptied, or exchanged for another table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from airflow_ddlrepl.adapt.policy import policy_at
from airflow_ddlrepl.adapt.program.suspend import family
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.hvr.ddl_table import ROWS, Ddl
from airflow_ddlrepl.model.change import Event, EventKind, why_ignored
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Partition
from airflow_ddlrepl.model.table_state import TableState, TableStatus


@dataclass(frozen=True, slots=True)
class PartitionReloads:
    """These rules find the statements after which HVR's defaults load a partitioned table of one target again.

    Our own defaults apply what the log has of them. histories: the revisions of each table, in order.
    """

    at: ChannelAt
    histories: Mapping[int, Sequence[Revision]]

    def __call__(self, event: Event, table_id: int, table_states: Mapping[int, TableState]) -> str:
        """Return why a partition that the event is about has its whole table loaded again; empty: it has not."""
        known = [one for one in self.histories.get(table_id, ()) if one.key <= event.key]
        now = known[-1].table if known else None
        if now is None or now.partition is None or now.is_partitioned:
            return ""
        policy = policy_at(self.at, now.name, ignored=why_ignored(event))
        if not (policy.is_hvr and policy.adapts):
            return ""
        if event.kind is EventKind.TRUNCATE:
            is_one = not {i for i, _ in event.dropped}.issuperset(leaves_with(table_states, table_id))
            return _why(Ddl.TRUNCATE_PARTITION) if is_one else ""
        before = known[-2].table if len(known) > 1 else None
        is_attached = known[-1].key == event.key and event.tag != "CREATE TABLE"
        if not is_attached or (before is not None and before.partition is not None):
            return ""
        return _why(Ddl.EXCHANGE_PARTITION) if self._had_another(now.id, now.partition, event) else ""

    def _had_another(self, table_id: int, place: Partition, event: Event) -> bool:
        """Was another table the partition in this place before?"""
        others = (one for other, known in self.histories.items() if other != table_id for one in known)
        parts = (one.table.partition for one in others if one.table is not None and one.key < event.key)
        return any(part is not None and (part.of, part.bound) == (place.of, place.bound) for part in parts)


def leaves_with(table_states: Mapping[int, TableState], table_id: int) -> Iterator[int]:
    """Yield the ids of the tables with rows that belong to the same partitioned table as this one, and its own."""
    there = [one for one in table_states.values() if one.state is not TableStatus.ORPHANED]
    found = family(there, [table_id])
    return (one.table_id for one in there if one.table_id in found and not one.shape.is_partitioned)


def _why(statement: Ddl) -> str:
    return f"HVR refreshes after {ROWS[statement].sql}"
