"""This module reads messages that people and programs write as JSON, and writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.notation.suggestion import suggestion
from airflow_ddlrepl.streams.condition.members import EXTRA_ATTRIBUTES
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.messages import Command, DdlLcr, Message, MessageClass, RowLcr, UserMessage

_WHOLE = re.compile(r"0|-?[1-9]\d{0,15}")
_SAME = ("transaction_id", "scn", "commit_scn")
_COMMON = ("object", "command", "source_database", "tag", "source_time", "class", "extra", *_SAME)
_OF_DDL = ("object_type", "text", "current_schema", "logon_user")
_KEYS = {
    RowLcr: (*_COMMON, "old", "new"),
    DdlLcr: (*_COMMON, "base", *_OF_DDL),
    UserMessage: ("type", "fields", "class"),
}


PREFIX = "ddlrepl.message"
"""The prefix of the log's messages that are for queues."""
CASE = NameCase.LOWER
"""The case of names in such messages that stand without quotes."""


def message_of(data: Any, case: NameCase = NameCase.UPPER) -> Message:
    """Return the message that a JSON value describes: a row change, DDL, or a user message.

    A row change has `object` (SCHEMA.TABLE), `command` (INSERT, UPDATE, DELETE), `old` and `new`; DDL another
    `command`, `base` and `text`; a user message `type` and `fields`. Numbers are numbers, or `{"number": "…"}` where
    JSON's lose digits; `{"date": "…"}` is a date, `{"raw": "0A"}` raw bytes. Names are spelled as the database spells
    them; `[SCHEMA, NAME]` is exact, and has null for what DDL does not have. Raises RuleError RUL-126, also for a text
    that no database holds: one with a NUL, or with half of a character.
    """
    if not isinstance(data, dict):
        raise _wrong("a change is a JSON object", '{"object": "hr.t", "command": "INSERT", "new": {"id": 1}}')
    command = " ".join(str(data.get("command", "")).upper().split())
    kind: type[Message] = UserMessage if "type" in data else RowLcr if command in Command.__members__ else DdlLcr
    for key in data:
        if key not in _KEYS[kind]:
            raise _wrong(f"a change has no {key!r}", suggestion(str(key), _KEYS[kind]))
    try:
        _require_whole_texts(data)
        return _read(kind, data, command, case)
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise _wrong(str(error), "docs/streams.md shows a change as JSON") from None


def _require_whole_texts(data: Any) -> None:
    """Raise ValueError for a text that no database holds: JSON may have a NUL, or half of a character."""
    for text in _strings(data):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError("a text has half of a character") from None
        if "\0" in text:
            raise ValueError("a text has a NUL")


def _strings(data: Any) -> Iterator[str]:
    """Yield each text in a JSON value, and each name of its objects."""
    match data:
        case str():
            yield data
        case dict():
            yield from data
            for value in data.values():
                yield from _strings(value)
        case list():
            for value in data:
                yield from _strings(value)


def _read(kind: type[Message], data: Mapping[str, Any], command: str, case: NameCase) -> Message:
    classes = {"message_class": MessageClass(data.get("class", MessageClass.PERSISTENT))}
    if kind is UserMessage:
        return UserMessage(".".join(case.parts(str(data["type"]))), _values(data, "fields", case), **classes)
    if not command or "object" not in data:
        raise ValueError("a change has an object and a command")
    owner, name = _object(data["object"], case, is_whole=kind is RowLcr)
    common: dict[str, Any] = {
        "owner": owner,
        "name": name,
        "source_database": _database(str(data.get("source_database") or ""), case),
        "tag": bytes.fromhex(str(data["tag"])) if data.get("tag") is not None else None,
        **{key: data[key] for key in _SAME if key in data},
        "extra": _extra(data),
        **classes,
    }
    if data.get("source_time"):
        common["source_time"] = datetime.fromisoformat(data["source_time"])
    if kind is RowLcr:
        old, new = _values(data, "old", case), _values(data, "new", case)
        return RowLcr(**common, command=Command(command), old=old, new=new)
    base: tuple[str | None, str | None] = (owner, name) if command.endswith("TABLE") else (None, None)
    if "base" in data:
        base = _object(data["base"], case, is_whole=False) if data["base"] else (None, None)
    more: dict[str, Any] = {key: str(data[key]) for key in _OF_DDL if key in data}
    return DdlLcr(**common, command=command, base_owner=base[0], base_name=base[1], **more)


def _object(name: Any, case: NameCase, *, is_whole: bool) -> tuple[str | None, str | None]:
    """Return the schema and the name of an object. is_whole: it has both."""
    if isinstance(name, list) and len(name) == 2 and all(part is None or isinstance(part, str) for part in name):
        parts: tuple[str | None, ...] = tuple(name)
    else:
        parts = case.parts(str(name))
    if len(parts) != 2 or (is_whole and None in parts):
        raise ValueError(f"{name} is no name of the form SCHEMA.NAME")
    return parts[0], parts[1]


def _database(name: str, case: NameCase) -> str:
    return ".".join(case.parts(name)) if '"' in name else case.plain(name)


def _extra(data: Mapping[str, Any]) -> dict[str, Any]:
    found = _mapping(data, "extra")
    for name in found:
        if name not in EXTRA_ATTRIBUTES:
            raise ValueError(f"there is no extra attribute {name!r}: {', '.join(EXTRA_ATTRIBUTES)} are")
    return {name: _value(value) for name, value in found.items()}


def _mapping(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = data.get(key) or {}
    if not isinstance(found, dict):
        raise ValueError(f"{key} is an object of columns with their values")
    return found


def _values(data: Mapping[str, Any], key: str, case: NameCase) -> dict[str, Any]:
    return {case.one(name): _value(value) for name, value in _mapping(data, key).items()}


def _value(value: Any) -> Any:
    match value:
        case {"date": text}:
            return datetime.fromisoformat(text)
        case {"raw": text}:
            return bytes.fromhex(text)
        case {"number": text}:
            return Decimal(text)
        case bool() | None | str() | Decimal():
            return value
        case int() | float():
            return Decimal(repr(value))
    raise ValueError(f'{value!r} is no value: numbers, texts, null, {{"date": …}} and {{"raw": …}} are')


def written(message: Message, case: NameCase = NameCase.UPPER) -> dict[str, Any]:
    """Return a message as JSON values that `message_of` reads as this message. A date is written as its midnight.

    case: names that it spells this way have no quotes. Raises RuleError RUL-126 for a value that is none of a column.
    """
    found: dict[str, Any] = {}
    if isinstance(message, UserMessage):
        found |= {"type": case.written(*message.type.split(".")), "fields": _written_values(message.fields, case)}
    else:
        found |= _written_lcr(message, case)
    if message.message_class is not MessageClass.PERSISTENT:
        found["class"] = message.message_class.value
    return found


def _written_lcr(lcr: RowLcr | DdlLcr, case: NameCase) -> dict[str, Any]:
    found: dict[str, Any] = {"object": _written_object(lcr.owner, lcr.name, case), "command": str(lcr.command)}
    if isinstance(lcr, RowLcr):
        found |= {side: _written_values(getattr(lcr, side), case) for side in ("old", "new") if getattr(lcr, side)}
    else:
        found |= {key: getattr(lcr, key) for key in _OF_DDL if getattr(lcr, key)}
        base, nothing = (lcr.base_owner, lcr.base_name), (None, None)
        if base != ((lcr.owner, lcr.name) if lcr.command.endswith("TABLE") else nothing):
            found["base"] = _written_object(*base, case) if base != nothing else None
    if lcr.source_database:
        is_plain = '"' not in lcr.source_database and case.plain(lcr.source_database) == lcr.source_database
        quoted = '"' + lcr.source_database.replace('"', '""') + '"'
        found["source_database"] = lcr.source_database if is_plain else quoted
    if lcr.tag is not None:
        found["tag"] = lcr.tag.hex().upper()
    if lcr.source_time is not None:
        found["source_time"] = lcr.source_time.isoformat()
    found |= {key: getattr(lcr, key) for key in _SAME if getattr(lcr, key) not in (None, "")}
    if lcr.extra:
        found["extra"] = {name: _written_value(value) for name, value in lcr.extra.items()}
    return found


def _written_object(owner: str | None, name: str | None, case: NameCase) -> str | list[str | None]:
    return case.written(owner, name) if owner and name else [owner, name]


def _written_values(values: Mapping[str, Any], case: NameCase) -> dict[str, Any]:
    return {case.written(name): _written_value(value) for name, value in values.items()}


def _written_value(value: Any) -> Any:
    match value:
        case None | bool() | str() | int():
            return value
        case float() | Decimal():
            return _written_number(value if isinstance(value, Decimal) else Decimal(repr(value)))
        case date():  # a datetime is one, too
            return {"date": value.isoformat()}
        case bytes() | bytearray() | memoryview():
            return {"raw": bytes(value).hex().upper()}
    raise _wrong(f"{value!r} of type {type(value).__name__} is no value", "give numbers, texts, dates and bytes")


def _written_number(number: Decimal) -> Any:
    """Return a number as one of JSON where no digit is lost that way."""
    text = str(number)
    if _WHOLE.fullmatch(text):
        return int(text)
    is_exact = number.is_finite() and str(Decimal(repr(float(number)))) == text
    return float(number) if is_exact else {"number": text}


def _wrong(what: str, hint: str) -> RuleError:
    return RuleError(f"the change can't be read: {what}", code="RUL-126", hint=hint)
