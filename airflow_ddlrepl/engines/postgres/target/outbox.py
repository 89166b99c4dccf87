"""This module defines a target's outbox: records of what was done there, for the repository.

They are written in the transaction that does it, and removed once the repository has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.types.held_texts import dumped, loaded
from airflow_ddlrepl.model.record import Record, from_json, to_json

CREATE = """
CREATE TABLE IF NOT EXISTS ddlrepl.unrecorded (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, channel text NOT NULL, record jsonb NOT NULL);
"""

AT_ONCE = 1000
"""So many rows go to the target with one statement, in binary format (%b): as text each quote is escaped, slowly."""


def write_records(cursor: Any, channel: str, records: Sequence[Record]) -> None:
    """Write records into the outbox, in this order, in the open transaction."""
    for low in range(0, len(records), AT_ONCE):
        texts = [dumped(cursor.connection, to_json(record)) for record in records[low : low + AT_ONCE]]
        cursor.execute(
            "INSERT INTO ddlrepl.unrecorded (channel, record) SELECT %s::text, given.record::jsonb"
            " FROM unnest(%b::text[]) WITH ORDINALITY AS given(record, place) ORDER BY given.place",
            [channel, texts],
        )


def outbox_records(connection: Connection[Any], channel: str) -> list[tuple[int, Record]]:
    """Return the records in the outbox, oldest first.

    Each comes with the number that `remove` takes.
    """
    rows = connection.execute("SELECT id, record FROM ddlrepl.unrecorded WHERE channel = %s ORDER BY id", [channel])
    return [(int(number), from_json(loaded(connection, record))) for number, record in rows]


def remove(connection: Connection[Any], numbers: Sequence[int]) -> None:
    """Remove records that the repository has, by their numbers."""
    connection.execute("DELETE FROM ddlrepl.unrecorded WHERE id = ANY(%s)", [list(numbers)])
