"""This module reads messages that a person writes as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from typing import Any

from airflow_ddlrepl.config.base.suggestion import suggestion
from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.messages import Command, DdlLcr, Message, MessageClass, RowLcr, UserMessage

_SAME = ("transaction_id", "scn", "commit_scn", "extra")
_COMMON = ("object", "command", "source_database", "tag", "source_time", "class", *_SAME)
_KEYS = {
    RowLcr: (*_COMMON, "old", "new"),
    DdlLcr: (*_COMMON, "base", "object_type", "text", "current_schema", "logon_user"),
    UserMessage: ("type", "fields", "class"),
}


def message_of(data: Any, case: NameCase = NameCase.UPPER) -> Message:
    """Return the message that a JSON value describes: a row change, DDL, or a user message.

    A row change has `object` (SCHEMA.TABLE), `command` (INSERT, UPDATE, DELETE), `old` and `new`; DDL another
    `command`, `base` and `text`; a user message `type` and `fields`. Numbers are numbers, `{"date": "…"}` a date,
    `{"raw": "0A"}` raw bytes. Names are spelled as the database spells them. Raises RuleError RUL-126.
    """
    if not isinstance(data, dict):
        raise _wrong("a change is a JSON object", '{"object": "hr.t", "command": "INSERT", "new": {"id": 1}}')
    command = " ".join(str(data.get("command", "")).upper().split())
    kind: type[Message] = UserMessage if "type" in data else RowLcr if command in Command.__members__ else DdlLcr
    for key in data:
        if key not in _KEYS[kind]:
            raise _wrong(f"a change has no {key!r}", suggestion(str(key), _KEYS[kind]))
    try:
        return _read(kind, data, command, case)
    except ValueError as error:
        raise _wrong(str(error), "docs/streams.md shows a change as JSON") from None


def _read(kind: type[Message], data: Mapping[str, Any], command: str, case: NameCase) -> Message:
    classes = {"message_class": MessageClass(data.get("class", MessageClass.PERSISTENT))}
    if kind is UserMessage:
        return UserMessage(".".join(case.parts(str(data["type"]))), _values(data, "fields", case), **classes)
    if not command or "object" not in data:
        raise ValueError("a change has an object and a command")
    owner, name = _object(data["object"], case)
    common: dict[str, Any] = {
        "owner": owner,
        "name": name,
        "source_database": case.plain(str(data.get("source_database") or "")),
        "tag": bytes.fromhex(str(data["tag"])) if data.get("tag") is not None else None,
        **{key: data[key] for key in _SAME if key in data},
        **classes,
    }
    if data.get("source_time"):
        common["source_time"] = datetime.fromisoformat(data["source_time"])
    if kind is RowLcr:
        old, new = _values(data, "old", case), _values(data, "new", case)
        return RowLcr(**common, command=Command(command), old=old, new=new)
    base = (
        _object(data["base"], case)
        if data.get("base")
        else (owner, name)
        if command.endswith("TABLE")
        else (None, None)
    )
    more = {
        one.name: data[one.name]
        for one in fields(DdlLcr)
        if one.name in _KEYS[DdlLcr][len(_COMMON) :] and one.name in data
    }
    return DdlLcr(**common, command=command, base_owner=base[0], base_name=base[1], **more)


def _object(name: Any, case: NameCase) -> tuple[str | None, str | None]:
    parts = case.parts(str(name))
    if len(parts) != 2:
        raise ValueError(f"{name} is no name of the form SCHEMA.NAME")
    return parts[0], parts[1]


def _values(data: Mapping[str, Any], key: str, case: NameCase) -> dict[str, Any]:
    found = data.get(key) or {}
    if not isinstance(found, dict):
        raise ValueError(f"{key} is an object of columns with their values")
    return {case.one(name): _value(value) for name, value in found.items()}


def _value(value: Any) -> Any:
    match value:
        case {"date": text}:
            return datetime.fromisoformat(text)
        case {"raw": text}:
            return bytes.fromhex(text)
        case bool() | None | str():
            return value
        case int() | float():
            return Decimal(repr(value))
    raise ValueError(f'{value!r} is no value: numbers, texts, null, {{"date": …}} and {{"raw": …}} are')


def _wrong(what: str, hint: str) -> RuleError:
    return RuleError(f"the change can't be read: {what}", code="RUL-126", hint=hint)
