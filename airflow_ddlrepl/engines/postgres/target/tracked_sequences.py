"""This module stores which sequences of a target are those of the source's, and which values the source's have had."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from airflow_ddlrepl.engines.abilities.sequences import SequenceStep, TrackedSequence
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.sequence import SequenceValue

TABLE = "sequences"
CREATE = """
CREATE TABLE IF NOT EXISTS ddlrepl.sequences (
    channel text NOT NULL, sequence_id bigint NOT NULL, schema_name text NOT NULL, sequence_name text NOT NULL,
    last_value bigint NOT NULL, is_called boolean NOT NULL, PRIMARY KEY (channel, sequence_id));
"""
_PUT = """
INSERT INTO ddlrepl.sequences (channel, sequence_id, schema_name, sequence_name, last_value, is_called)
VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (channel, sequence_id) DO UPDATE SET schema_name = excluded.schema_name,
    sequence_name = excluded.sequence_name, last_value = excluded.last_value, is_called = excluded.is_called
"""


def is_there(connection: Connection[Any]) -> bool:
    """Does the target have the table? One that was prepared by an older version of this package has not."""
    row = connection.execute("SELECT to_regclass('ddlrepl.sequences') IS NOT NULL").fetchone()
    return row is not None and bool(row[0])


def tracked(connection: Connection[Any], channel: str) -> dict[int, TrackedSequence]:
    """Return what the target knows of the channel's sequences, by the source's id."""
    if not is_there(connection):
        return {}
    columns = "sequence_id, schema_name, sequence_name, last_value, is_called"
    rows = connection.execute(f"SELECT {columns} FROM ddlrepl.sequences WHERE channel = %s".encode(), [channel])
    return {
        number: TrackedSequence(TableName(schema, name), SequenceValue(last, is_called))
        for number, schema, name, last, is_called in rows
    }


def has_any(connection: Connection[Any], channel: str) -> bool:
    """Does the channel have sequences here?"""
    query = "SELECT EXISTS (SELECT FROM ddlrepl.sequences WHERE channel = %s)"
    row = connection.execute(query, [channel]).fetchone() if is_there(connection) else None
    return row is not None and bool(row[0])


def of_other_channels(connection: Connection[Any], channel: str) -> frozenset[TableName]:
    """Return the names of the sequences that other channels have brought here."""
    if not is_there(connection):
        return frozenset()
    query = "SELECT schema_name, sequence_name FROM ddlrepl.sequences WHERE channel <> %s"
    return frozenset(TableName(schema, name) for schema, name in connection.execute(query, [channel]))


def remember(cursor: Any, channel: str, steps: Sequence[SequenceStep]) -> None:
    """Store the names and values of these sequences, in the open transaction."""
    rows = [(channel, step.id, *step.name, *step.seen) for step in steps]
    if rows:
        cursor.executemany(_PUT, rows)


def forget(cursor: Any, channel: str, ids: Collection[int]) -> None:
    """Stop tracking these sequences, in the open transaction; they stay as they are."""
    query = "DELETE FROM ddlrepl.sequences WHERE channel = %s AND sequence_id = ANY (%s)"
    cursor.execute(query, [channel, list(ids)])


def forget_all(connection: Connection[Any], channel: str) -> None:
    """Remove all that the target knows of the channel's sequences; they stay as they are."""
    if is_there(connection):
        connection.execute("DELETE FROM ddlrepl.sequences WHERE channel = %s", [channel])
