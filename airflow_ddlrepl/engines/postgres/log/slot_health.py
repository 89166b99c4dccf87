"""This module tells how the replication slots of a channel are: what they retain, and what is wrong with them."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import literal
from airflow_ddlrepl.engines.postgres.log import slots
from airflow_ddlrepl.model.installation import LogHolder

_SQL = """
SELECT s.slot_name::text, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), s.restart_lsn)::bigint, s.wal_status,
       s.safe_wal_size, s.plugin = 'pgoutput' AND s.database = current_database(),
       to_jsonb(s) ->> 'invalidation_reason'
FROM pg_catalog.pg_replication_slots s WHERE s.slot_name = ANY (%s)
"""


def find(connection: Connection[Any], *names: str) -> dict[str, LogHolder]:
    """Return the slots of these names that are there, by name."""
    rows = connection.execute(_SQL, [list(names)]).fetchall()
    return {
        name: LogHolder(name, size, state or "", left, *_trouble(name, state, left, ours, reason))
        for name, size, state, left, ours, reason in rows
    }


def missing(name: str) -> LogHolder:
    """Return a slot that is not there."""
    return LogHolder(name, problem=f"the replication slot {name} is missing", fix="`ddlrepl activate` creates it again")


def _trouble(name: str, state: str | None, left: int | None, is_ours: bool, reason: str | None) -> tuple[str, str]:
    """Return what is wrong with a slot, and what to do."""
    if not is_ours:
        return f"the replication slot {name} is another program's", "give the channel another name in source.slot"
    if reason or state == "lost":
        why = reason or slots.REMOVED
        drop = f"SELECT pg_drop_replication_slot({literal(name).strip()}); then `ddlrepl activate`"
        return f"the replication slot {name} is lost: {why}", f"{drop}. {slots.prevention(why)}"
    if state == "unreserved":
        return (
            f"the replication slot {name} is about to be lost: the server removes log that it needs"
            + (f" in {left} bytes" if left is not None else ""),
            "run a cycle now, and set a larger max_slot_wal_keep_size",
        )
    return "", ""
