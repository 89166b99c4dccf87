"""This module parses the functions of SQL/JSON, which PostgreSQL 17 and later print with keywords of their own."""

from __future__ import annotations

from collections.abc import Callable

from airflow_ddlrepl.sql.expressions.reader import Reader

CALLS = ("json_value", "json_query", "json_exists")
_WRAPPERS = ("without", "with")
_BEHAVIOURS = ("null", "error", "empty", "true", "false", "unknown")

Parse = Callable[[Reader], None]


def json_call(reader: Reader, expression: Parse) -> None:
    """Read a call such as `JSON_VALUE(data, '$.a' RETURNING integer NULL ON EMPTY)`."""
    reader.next()
    reader.found.since = max(reader.found.since, 17)
    reader.need("(")
    expression(reader)
    reader.take("format", "json")
    reader.need(",")
    expression(reader)
    if reader.take("passing"):
        while True:
            expression(reader)
            reader.need("as")
            reader.name()
            if not reader.take(","):
                break
    if reader.take("returning"):
        reader.found.types.append(reader.type())
        reader.take("format", "json")
    _wrapper(reader)
    while not reader.take(")"):
        _behaviour(reader, expression)


def _wrapper(reader: Reader) -> None:
    if any(reader.take(word) for word in _WRAPPERS):
        _ = reader.take("conditional") or reader.take("unconditional")
        reader.take("array")
        reader.need("wrapper")
    if reader.take("keep") or reader.take("omit"):
        reader.need("quotes")


def _behaviour(reader: Reader, expression: Parse) -> None:
    if reader.take("default"):
        expression(reader)
    elif reader.take("empty"):
        _ = reader.take("array") or reader.take("object")
    elif not any(reader.take(word) for word in _BEHAVIOURS):
        reader.need("default")
    reader.need("on")
    if not reader.take("empty"):
        reader.need("error")
