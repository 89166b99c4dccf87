"""This module finds the tables at a target that lack a transaction which the source could not send."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from airflow_ddlrepl.flow.streams.apply_process.apply import ApplyProcess
from airflow_ddlrepl.flow.streams.apply_process.suspended_tables import name_at
from airflow_ddlrepl.flow.streams.instantiation.instantiation_plan import insert_routes, way_of
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision


def left_out_tables(
    process: ApplyProcess, events: Iterable[Event], revisions: Mapping[int, Sequence[Revision]]
) -> dict[TableName, Position]:
    """Return the tables that such transactions may have written to, with the last place, as they were called there.

    Those alone that the process takes rows of.
    """
    places: dict[int, Position] = {}
    for event in events:
        if event.is_left_out and event.layout is not None:
            table_id, at = int(event.layout["table_id"]), Position(event.key.lsn)
            places[table_id] = max(at, places.get(table_id, at))
    routes = list(insert_routes(process.clients, process.client)) if places else []
    found = {}
    for table in process.clients.tables if places else ():
        if table.id in places and any(way_of(table, route).outcomes for route in routes):
            name = name_at(revisions[table.id], places[table.id])
            if name is not None:
                found[name] = places[table.id]
    return found
