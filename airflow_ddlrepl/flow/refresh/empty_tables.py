"""New tables without rows are created at a target in their places: no shadow table is made, loaded and exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_ddlrepl.flow.refresh.row_origin import TableLoad
from airflow_ddlrepl.flow.run.context import log
from airflow_ddlrepl.model.table_state import TableStatus

if TYPE_CHECKING:
    from airflow_ddlrepl.flow.refresh.table_loader import TableLoader

AT_ONCE = 100
"""So many tables are created in one transaction."""
CREATED = "%d tables without rows are created"


def create_empty(loader: TableLoader, leaves: Sequence[TableLoad]) -> set[int]:
    """Create those of these tables that are new and without rows; return their ids. The others have to be loaded."""
    known = () if loader.isolation else loader.origin.empty
    empty = [load for load in leaves if load.table.id in known and _is_new(loader, load)]
    found, at = set[int](), loader.position() if empty else None
    for low in range(0, len(empty), AT_ONCE):
        loader.context.check_lock()
        some = empty[low : low + AT_ONCE]
        if loader.loader.create_empty([loader.placing(load, 0, at) for load in some], loader.context.fence):
            log.info(CREATED, len(some))
            found |= {load.table.id for load in some}
    return found


def _is_new(loader: TableLoader, load: TableLoad) -> bool:
    """Is a table new at the target, with nothing that it shares with others there, as a tree or a type is?"""
    is_new = loader.table_states[load.table.id].state is TableStatus.NEW
    return is_new and load.table.partition is None and not load.after.shape.types
