"""This module orders tables whose names changed unseen, so that they can take their new names one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from airflow_ddlrepl.model.names import TableName, shortened
from airflow_ddlrepl.model.table import Table


def in_rename_order(known: Mapping[int, Table], now: Sequence[Table]) -> Iterator[Table]:
    """Yield the new shapes, each after the shape of the table whose name it takes.

    In a ring, one table gets another name first. known: the tables before, those that were dropped left out.
    """
    names = {table.name: table.id for table in known.values()}
    waiting = list(now)
    while waiting:
        table = next((t for t in waiting if names.get(t.name, t.id) == t.id), None)
        if table is None:
            old = known[names[waiting[0].name]]
            yield old.with_(name=TableName(old.name.schema, f"{shortened(old.name.name)}_moving_{old.id}"))
            del names[old.name]
            continue
        waiting.remove(table)
        if table.id in known and names.get(known[table.id].name) == table.id:
            del names[known[table.id].name]
        names[table.name] = table.id
        yield table
