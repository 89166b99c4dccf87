"""Restore rules that Airflow follows, that its schema doesn't enforce, and that one of its revisions relies on.

Random rows break such rules, so they are restored right before the revision that needs them. Each of these is a
limit of Airflow's revisions on a filled database, not of the replication.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import Connection

# revision → what it needs
BEFORE: dict[str, tuple[str, ...]] = {
    # 0040 adds a NOT NULL column without a default to a table that had been released in no version yet.
    "3a8972ecb8f9": (
        "UPDATE dag_run SET backfill_id = NULL",
        "TRUNCATE backfill_dag_run",
        "DELETE FROM backfill",
    ),
    # 0041 brings back a foreign key to dag that 0027 had lost.
    "05234396c6fc": (
        "DELETE FROM dag_schedule_dataset_alias_reference r"
        " WHERE NOT EXISTS (SELECT FROM dag d WHERE d.dag_id = r.dag_id)",
    ),
    # 0096 turns references to team.id into references to team.name without translating them.
    "b12d4f98a91e": (
        "UPDATE connection SET team_id = NULL",
        "UPDATE variable SET team_id = NULL",
        "UPDATE slot_pool SET team_id = NULL",
        "TRUNCATE dag_bundle_team",
    ),
}
# table, column → where its values come from although no foreign key says so
SOFT_REFERENCES: dict[tuple[str, str], tuple[str, str]] = {
    ("dag_schedule_dataset_alias_reference", "dag_id"): ("dag", "dag_id"),
}


def restore(connection: Connection[Any], revision: str) -> None:
    """Change the rows so that this revision can run. connection: autocommit."""
    for statement in BEFORE.get(revision, ()):
        connection.execute(statement.encode())
