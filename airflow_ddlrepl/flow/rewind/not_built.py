"""Tables that the place of a rewind can't have are left out of it, with the reason; the others are built."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_ddlrepl.adapt.shape.source_expressions import require_texts
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.flow.mapping.tables import seen_at
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.snapshots.archive import tables_at
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.sql.expressions.allowed import user_functions


def not_built(run: RunContext, place: str, high: Position) -> Mapping[int, str]:
    """Return, by id, why the place can't have tables as they were at a position, with the partitions of such tables."""
    facts, tables = run.target(place).facts(), tables_at(run, high)
    found: dict[int, str] = {}
    for table_id, table in tables.items():
        try:
            strange = facts.strange(user_functions(table.partition_key))
            require_texts(seen_at(run.channel.at(place), table), facts.version, strange)
        except Unsupported as error:
            found[table_id] = error.message
    while more := {i: t for i, t in tables.items() if i not in found and t.partition and t.partition.of in found}:
        for i, table in more.items():
            found[i] = f"it is a partition of {table.partition.of_name if table.partition else ''}, which is not built"
    return found
