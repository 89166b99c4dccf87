"""What a target did and the repository does not know yet: left with what was done, removed once recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.model.record import Record, from_json, to_json

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection

CREATE = """
CREATE TABLE IF NOT EXISTS ddlrepl.unrecorded (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, channel text NOT NULL, record jsonb NOT NULL);
"""


def leave(cursor: Any, channel: str, records: Sequence[Record]) -> None:
    """Leave them in the open transaction, in this order."""
    if records:
        cursor.executemany(
            "INSERT INTO ddlrepl.unrecorded (channel, record) VALUES (%s, %s::jsonb)",
            [(channel, json.dumps(to_json(record))) for record in records],
        )


def left(connection: Connection[Any], channel: str) -> list[tuple[int, Record]]:
    """What is to be recorded, oldest first, with the numbers that `remove` takes."""
    rows = connection.execute("SELECT id, record FROM ddlrepl.unrecorded WHERE channel = %s ORDER BY id", [channel])
    return [(int(number), from_json(record)) for number, record in rows]


def remove(connection: Connection[Any], numbers: Sequence[int]) -> None:
    """They are recorded."""
    connection.execute("DELETE FROM ddlrepl.unrecorded WHERE id = ANY(%s)", [list(numbers)])
