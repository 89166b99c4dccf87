"""This module defines a message on its way into a target, and the JSON that an error queue stores of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.stored_names import SCHEMA_PATH
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.streams.messages import Command, DdlLcr, Lcr, Message, MessageClass, RowLcr, UserMessage

_KINDS: dict[str, type[Message]] = {"row": RowLcr, "ddl": DdlLcr, "user": UserMessage}


@dataclass(frozen=True, slots=True)
class ApplyMessage:
    """An apply message is a message as the rules of an apply client have left it. Values of a row LCR are texts.

    key_columns: of the source's table. shape: of the row LCR's table; None: not known. schema_path, time_zone: of the
    session that ran a DDL statement. queue: where the rule sends the message; empty: nowhere. executes: is the message
    applied, too? key: its place in the log; the DDL LCRs of one statement have one place.
    """

    message: Message
    key_columns: tuple[str, ...] = ()
    shape: Table | None = None
    schema_path: str = ""
    time_zone: str = ""
    queue: str = ""
    executes: bool = True
    key: LogKey | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the message as a JSON object, without its shape."""
        kind = next(name for name, of in _KINDS.items() if isinstance(self.message, of))
        own = {one.name: _stored(getattr(self.message, one.name)) for one in fields(self.message)}
        return {
            "kind": kind,
            "message": {name: value for name, value in own.items() if value not in (None, "", {})},
            "key_columns": list(self.key_columns),
            SCHEMA_PATH: self.schema_path,
            "time_zone": self.time_zone,
            "queue": self.queue,
            "executes": self.executes,
            "key": list(self.key) if self.key is not None else None,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], shape: Table | None = None) -> ApplyMessage:
        """Return the message that `to_json` wrote, with the shape that was stored beside it."""
        kind = _KINDS[data["kind"]]
        stored = data["message"]
        values: dict[str, Any] = {"owner": None, "name": None} if issubclass(kind, Lcr) else {}
        for name, value in stored.items():
            values[name] = _read(value)
        for name, read in (("command", Command), ("message_class", MessageClass)):
            if name in values and not (name == "command" and kind is DdlLcr):
                values[name] = read(values[name])
        message = kind(**values)
        found = {name: data[name] for name in ("time_zone", "queue", "executes")}
        key = LogKey(*data["key"]) if data["key"] is not None else None
        return cls(message, tuple(data["key_columns"]), shape, data[SCHEMA_PATH], **found, key=key)


def _stored(value: Any) -> Any:
    match value:
        case None | bool() | str():
            return value
        case int() | float() | Decimal():
            return {"number": str(value)}
        case datetime():
            return {"moment": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
        case bytes():
            return {"raw": value.hex()}
        case Mapping():
            return {"values": {name: _stored(one) for name, one in value.items()}} if value else {}
    raise TypeError(f"a message has no value such as {value!r}")


def _read(value: Any) -> Any:
    match value:
        case {"number": text}:
            return int(text) if text.lstrip("-").isdigit() else Decimal(text)
        case {"moment": text}:
            return datetime.fromisoformat(text)
        case {"date": text}:
            return date.fromisoformat(text)
        case {"raw": text}:
            return bytes.fromhex(text)
        case {"values": found}:
            return {name: _read(one) for name, one in found.items()}
    return value
