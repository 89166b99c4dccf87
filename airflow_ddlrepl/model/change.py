"""What stands in the log: rows, DDL, truncates, messages, transactions."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Lsn
from airflow_ddlrepl.model.table import Table


class Op(IntEnum):
    """Operation of a row change in the trail; TRUNCATE keeps HVR's op code 5."""

    DELETE = 0
    INSERT = 1
    UPDATE = 2
    TRUNCATE = 5


class EventKind(StrEnum):
    """What a control record is."""

    DDL = "ddl"
    TRUNCATE = "truncate"
    NO_TRUNCATE = "no truncate"
    RELATION = "relation"
    MESSAGE = "message"
    GAP = "gap"
    PROPERTIES = "properties"


@dataclass(frozen=True, slots=True)
class Event:
    """One record of the control stream: a DDL statement's outcome, a truncate, a message, …

    key, xid, committed (microseconds since 1970, UTC), origin: its transaction.
    DDL: `tag` (ALTER TABLE), `statement` (best known text, None when unknown), `query` (the whole
    query string), `settings` (search_path, timezone, application_name, ddlrepl.tag, snapshot, snapshot_before),
    `tables` (shape of every table after the statement that the statement may have changed), `before` (shapes that
    these and dropped ones had before the statement, where its text names them), `dropped` (ids and names of tables
    that are gone), `rewritten` (ids of tables whose rows the server rewrote), `filled` (ids of tables that already had
    rows before they joined the publication).
    TRUNCATE: `dropped` lists the emptied tables, `settings["restart_identity"]`, `settings["cascade"]`.
    NO_TRUNCATE: a note that a TRUNCATE of the tables in `dropped` was not captured (`capture: {no_truncate: true}`).
    RELATION: a layout that no enrolled revision explains (servers without event triggers): `layout`.
    MESSAGE: a user's message: `prefix`, `payload` (base64).
    GAP: the event trigger failed; `statement` tells the error: everything must be re-inspected.
    PROPERTIES: of no log: what the channel file says of `tables` at a target has changed. It stands between the
    transactions, at `key.lsn`.
    is_inspected: not in the log; we found the shape by inspecting the catalog (D3b), so the
    statements between are unknown.
    """

    kind: EventKind
    key: LogKey
    xid: int
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

    @property
    def end(self) -> Lsn:
        """The position from which on it lies behind."""
        return Lsn(self.key.lsn + (self.kind is not EventKind.PROPERTIES))

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "key": list(self.key),
            "xid": self.xid,
            "committed": self.committed,
            "origin": self.origin,
            "tag": self.tag,
            "statement": self.statement,
            "query": self.query,
            "settings": self.settings,
            "tables": [t.to_json() for t in self.tables],
            "before": [t.to_json() for t in self.before],
            "dropped": [[i, list(n)] for i, n in self.dropped],
            "rewritten": list(self.rewritten),
            "filled": list(self.filled),
            "prefix": self.prefix,
            "payload": self.payload,
            "layout": self.layout,
            "is_inspected": self.is_inspected,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Event:
        return cls(
            **{
                **data,
                "kind": EventKind(data["kind"]),
                "key": LogKey(*data["key"]),
                "tables": tuple(Table.from_json(t) for t in data["tables"]),
                "before": tuple(Table.from_json(t) for t in data.get("before", ())),
                "dropped": tuple((i, TableName(*n)) for i, n in data["dropped"]),
                "rewritten": tuple(data["rewritten"]),
                "filled": tuple(data["filled"]),
            }
        )
