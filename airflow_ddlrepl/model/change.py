"""This module defines the changes that a source's log carries: rows, DDL, truncates, messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.stored import read_with_tables, with_tables
from airflow_ddlrepl.model.stored_names import ABOUT_FEED, SCHEMA_PATH, TRANSACTION_ID
from airflow_ddlrepl.model.table import Table


class Op(IntEnum):
    """An operation is what one row change in the trail does to its row; TRUNCATE has HVR's op code 5."""

    DELETE = 0
    INSERT = 1
    UPDATE = 2
    TRUNCATE = 5


class EventKind(StrEnum):
    """An event's kind says what its control record of the log is about, such as DDL, a truncate or a message."""

    DDL = "ddl"
    TRUNCATE = "truncate"
    NO_TRUNCATE = "no truncate"
    RELATION = "relation"
    MESSAGE = "message"
    GAP = "gap"
    PROPERTIES = "properties"
    IGNORED = "ignored"


def counted(text: str | None) -> int:
    """Return how many changes the text of an event of kind IGNORED counts, such as `2 deletes, 1 inserts`."""
    return sum(int(number) for number in re.findall(r"\d+", text or ""))


REPLACED = "a capture process gives it other names or another text, in which it comes next in the queue"
"""Why an event is discarded of which a capture process has made another one, in the same queue."""


def of_source(events: Iterable[Event]) -> list[Event]:
    """Return those of the events that say what happened at the source, without those that clients have made of them."""
    return [event for event in events if not event.is_transformed]


def why_ignored(event: Event) -> str:
    """Return why targets don't get what the event, or the rows that it counts, did; empty when they do."""
    if event.discarded:
        return event.discarded
    label = event.tag if event.kind is EventKind.IGNORED else event.ignored
    return session_ignored(label) if label else ""


def session_ignored(label: str) -> str:
    """Return why a change is not captured. label: the setting that ignores its session."""
    return f"its session is ignored ({label})"


IS_DUE, IS_UNNAMED = "is_due", "is_unnamed"
"""Keys of an event's `layout`: the log lacks changes of the table; it does not tell which are of ignored sessions."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event is one control record of the log: the outcome of a DDL statement, a truncate, a message and the like.

    key, transaction_id, committed (microseconds since 1970, UTC), origin: its transaction.
    DDL: `tag` (ALTER TABLE), `statement` (best known text, None when unknown), `query` (the whole
    query string), `settings` (the schema path, timezone, application_name, role, tag, snapshot, snapshot_before),
    `tables` (shape of every table after the statement that the statement may have changed), `before` (shapes that
    these and dropped ones had before the statement, where its text names them), `dropped` (ids and names of tables
    that are gone), `rewritten` (ids of tables whose rows the server rewrote), `filled` (ids of tables that already had
    rows before the log carried them).
    TRUNCATE: `dropped` lists the emptied tables, `settings["restart_identity"]`, `settings["cascade"]`.
    NO_TRUNCATE: a note that a TRUNCATE of the tables in `dropped` was not captured (`capture: {no_truncate: true}`).
    RELATION: a layout that no enrolled revision explains (servers without event triggers): `layout`.
    MESSAGE: a user's message: `prefix`, `payload` (base64).
    GAP: the event trigger failed, with the error in `statement`: everything must be inspected again.
    PROPERTIES: not from the log: the channel file's properties of `tables` at a target have changed. It lies between
    the transactions, at `key.lsn`.
    IGNORED: row changes of one table that are not captured, because their sessions are ignored (`tag` says by which
    setting): `dropped` names the table, if there is one, `statement` counts them, and `key` is behind the last of them.
    ignored: the setting that ignores the transaction's session, `name purge*`; targets discard what the event did.
    discarded: why an Extract discards the statement, in words; targets discard what it did, too.
    is_transformed: a client of Streams has given it other names or another text: it says nothing about the source.
    is_inspected: not from the log; an inspection of the catalog found the shape (D3b), so the
    statements between are unknown.
    is_left_out: the source could not send the transaction; RELATION: of a table that it may have written to.
    """

    kind: EventKind
    key: LogKey
    transaction_id: int
    committed: int
    origin: str = ""
    tag: str = ""
    statement: str | None = None
    query: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    before: tuple[Table, ...] = ()
    dropped: tuple[tuple[int, TableName], ...] = ()
    rewritten: tuple[int, ...] = ()
    filled: tuple[int, ...] = ()
    prefix: str = ""
    payload: str = ""
    layout: dict[str, Any] | None = None
    is_inspected: bool = False
    ignored: str = ""
    discarded: str = ""
    is_transformed: bool = False
    is_left_out: bool = False

    @property
    def begin(self) -> Position:
        """Return the position of the event's transaction."""
        return Position(self.key.lsn)

    @property
    def is_about_feed(self) -> bool:
        """Is it about what the source's log has of tables? Then no target runs it, and no Extract decides about it."""
        return self.tag in ABOUT_FEED

    @property
    def schema_path(self) -> str:
        """Return the schemas in which the session looked for names without one, in SQL; empty: not known."""
        return str(self.settings.get(SCHEMA_PATH) or "")

    @property
    def end(self) -> Position:
        """Return the first position behind the event."""
        return Position(self.key.lsn + (self.kind is not EventKind.PROPERTIES))

    def to_json(self) -> dict[str, Any]:
        """Return the event as a JSON object, as the trail stores it."""
        return {
            **self._rest_to_json(),
            "tables": [t.to_json() for t in self.tables],
            "before": [t.to_json() for t in self.before],
        }

    def to_text(self) -> str:
        """Return the text of `to_json`, in one line of ASCII."""
        return with_tables(self._rest_to_json(), tables=self.tables, before=self.before)

    def _rest_to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "key": list(self.key),
            TRANSACTION_ID: self.transaction_id,
            "committed": self.committed,
            "origin": self.origin,
            "tag": self.tag,
            "statement": self.statement,
            "query": self.query,
            "settings": self.settings,
            "dropped": [[i, list(n)] for i, n in self.dropped],
            "rewritten": list(self.rewritten),
            "filled": list(self.filled),
            "prefix": self.prefix,
            "payload": self.payload,
            "layout": self.layout,
            "is_inspected": self.is_inspected,
            "ignored": self.ignored,
            "discarded": self.discarded,
            "is_transformed": self.is_transformed,
            "is_left_out": self.is_left_out,
        }

    @classmethod
    def from_text(cls, text: str) -> Event:
        """Return the event that `to_text` wrote."""
        return cls.from_json(read_with_tables(text))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Event:
        """Return the event that `to_json` wrote."""
        return cls(
            **{
                **{name: value for name, value in data.items() if name != TRANSACTION_ID},
                "transaction_id": data[TRANSACTION_ID],
                "kind": EventKind(data["kind"]),
                "key": LogKey(*data["key"]),
                "tables": tuple(Table.from_json(t) for t in data["tables"]),
                "before": tuple(Table.from_json(t) for t in data.get("before", ())),
                "dropped": tuple((i, TableName(*n)) for i, n in data["dropped"]),
                "rewritten": tuple(data["rewritten"]),
                "filled": tuple(data["filled"]),
            }
        )
