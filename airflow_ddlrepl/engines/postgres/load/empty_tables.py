"""This module creates tables that get no rows in their places, many in one transaction, with their states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import CONTENTION, passing
from airflow_ddlrepl.engines.postgres.ddl.render import create_table
from airflow_ddlrepl.engines.postgres.target import discarded_rows, load_marks, state
from airflow_ddlrepl.engines.postgres.target.outbox import write_records
from airflow_ddlrepl.engines.target_state import Fence, Placing
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.record import RefreshDone


def create_empty(connection: Connection[Any], channel: str, placings: Sequence[Placing], fence: Fence) -> bool:
    """Create tables with their keys and states; return False, with nothing changed, where the server refuses one.

    It does where something has a table's name. Raises Fenced LCK-102; a lock that can't be had passes as psycopg's
    error (`patiently`).
    """
    import psycopg

    states = {one.state.table_id: one.state for one in placings}
    try:
        with connection.transaction(), connection.cursor() as cursor:
            state.hold(cursor, channel, epoch=fence.epoch, token=fence.token)
            for one in states.values():
                cursor.execute("; ".join(create_table(one.shape, one.name)).encode())
            load_marks.remove(cursor, channel, list(states))
            discarded_rows.clear(cursor, channel, list(states))
            state.write_table_states(cursor, channel, states)
            write_records(cursor, channel, [RefreshDone(table_id, 0) for table_id in states])
            reach("refresh.transaction")
    except psycopg.Error as error:
        if error.sqlstate in CONTENTION or passing(error, "the target") is not None:
            raise
        return False
    return True
