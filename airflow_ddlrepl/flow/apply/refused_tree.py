"""What the target refused of the partitioned tables above a partition holds for the partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from airflow_ddlrepl.adapt.target_facts import Refusal
from airflow_ddlrepl.flow.mapping.tables import shape_before
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Table

Refusals = Mapping[tuple[int, LogKey], Refusal]
"""The changes that a target has refused in this run, by the table's id and the change's place in the log."""


def of_tree(
    refused: Refusals, table_id: int, event: Event, shape_at: Callable[[int, LogKey], Table | None]
) -> Refusal | None:
    """Return what the target refused of a change of the partitioned tables above a partition, because of rows."""
    known = shape_before(shape_at, table_id, event) if refused else None
    if known is None or known.partition is None:
        return None
    above = refused.get((known.partition.of, event.key))
    return above if above and above.by_rows else of_tree(refused, known.partition.of, event, shape_at)
