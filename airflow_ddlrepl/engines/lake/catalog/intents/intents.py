"""This module stores what a run is about to publish in a catalog, and what is to be done when that has come about.

An intent is stored before the catalog is asked, and removed in the transaction that the window's own writes are made
in: so a run that was killed between the two leaves one, and the next run finds out what has become of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, MetaData, String, Table, Text, delete, event, insert, inspect
from sqlalchemy import select as choose

_SCHEMA = MetaData()
intents = Table(
    "ddlrepl_intents",
    _SCHEMA,
    Column("mark", BigInteger, primary_key=True, autoincrement=False),
    Column("catalog_name", String(255), nullable=False),
    Column("channel", String(255), nullable=False),
    Column("window", String(255), nullable=False),
    Column("steps", Text, nullable=False),
    Column("writes", Text, nullable=False),
)

Writes = Sequence[Any]
"""Statements, each with its values."""


@dataclass(frozen=True, slots=True)
class Intent:
    """An intent is of one window of a channel. mark: the number of the window, which a REST server has, too.

    steps: what the catalog is to do, as JSON. writes: what the database is to do when it is published, each statement
    with its values.
    """

    mark: int
    channel: str
    window: str
    steps: str
    writes: list[Any] = field(repr=False)


def add_intent(connection: Connection, catalog: str, intent: Intent) -> None:
    """Store an intent, in the open transaction."""
    row = {
        "mark": intent.mark,
        "catalog_name": catalog,
        "channel": intent.channel,
        "window": intent.window,
        "steps": intent.steps,
        "writes": json.dumps(intent.writes),
    }
    connection.execute(insert(intents), [row])


def open_intent(connection: Connection, catalog: str) -> Intent | None:
    """Return the intent that a run has left, or is about to end; there is one at most, of all channels."""
    if not inspect(connection).has_table(intents.name):
        return None
    found = connection.execute(choose(intents).where(intents.c.catalog_name == catalog)).first()
    if found is None:
        return None
    return Intent(found.mark, found.channel, found.window, found.steps, json.loads(found.writes))


def end_intent(connection: Connection, intent: Intent, *, is_published: bool, besides: Writes = ()) -> None:
    """Remove an intent, and do its writes if it was published; nothing where somebody else has done so.

    besides: writes that come after its own.
    """
    if connection.execute(delete(intents).where(intents.c.mark == intent.mark)).rowcount == 1 and is_published:
        for statement, values in (*intent.writes, *besides):
            connection.exec_driver_sql(statement, _as_given(values))


def create(connection: Connection) -> None:
    """Create our table, where it does not exist."""
    _SCHEMA.create_all(connection)


@contextmanager
def noted(connection: Connection) -> Iterator[list[Any]]:
    """Note what a connection writes inside the `with`, so that it can be done later: each statement with its values."""
    writes: list[Any] = []

    def note(_: object, __: object, statement: str, values: Any, context: Any, ___: bool) -> None:
        if context.isinsert or context.isupdate or context.isdelete or context.isddl:
            writes.append([statement, values])

    event.listen(connection, "before_cursor_execute", note)
    try:
        yield writes
    finally:
        event.remove(connection, "before_cursor_execute", note)


def _as_given(values: Any) -> Any:
    """Return values as a driver takes them: rows as a list, one row as a tuple or by names. JSON may have kept them."""
    if isinstance(values, dict):
        return values
    is_many = bool(values) and isinstance(values[0], list | tuple | dict)
    return [_as_given(one) for one in values] if is_many else tuple(values)
