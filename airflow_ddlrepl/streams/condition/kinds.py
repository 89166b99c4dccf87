"""This module defines the kinds of values that a condition compares, and how a text becomes one of them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from airflow_ddlrepl.streams.condition.moments import FarMoment


class Kind(StrEnum):
    """A kind is a family of data types whose values can be compared with each other."""

    TEXT = "text"
    NUMBER = "number"
    MOMENT = "date"
    RAW = "raw"


ACCESS = {
    **dict.fromkeys(
        (
            "AccessVarchar2",
            "AccessVarchar",
            "AccessChar",
            "AccessNchar",
            "AccessNVarchar2",
            "AccessClob",
            "AccessNClob",
        ),
        Kind.TEXT,
    ),
    **dict.fromkeys(("AccessNumber", "AccessBFloat", "AccessBDouble"), Kind.NUMBER),
    **dict.fromkeys(("AccessDate", "AccessTimestamp", "AccessTimestampTZ", "AccessTimestampLTZ"), Kind.MOMENT),
    **dict.fromkeys(("AccessRaw", "AccessBlob"), Kind.RAW),
}
"""The functions that read a value out of an ANYDATA, each with the kind of value that it gives."""
ACCESS_OF = {
    Kind.TEXT: "AccessVarchar2",
    Kind.NUMBER: "AccessNumber",
    Kind.MOMENT: "AccessTimestamp",
    Kind.RAW: "AccessRaw",
}
"""The function that a system-created condition reads a kind of value with."""


def as_number(text: str) -> Decimal:
    """Return a text as a number. Raises ValueError for another text."""
    try:
        found = Decimal(text.strip())
    except InvalidOperation:
        raise ValueError(f"'{text}' is no number") from None
    if not found.is_finite():
        raise ValueError(f"'{text}' is no number")
    return found


def as_moment(text: str) -> datetime:
    """Return a text as a moment without time zone; one with an offset becomes UTC. Raises ValueError for another."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"'{text}' is no date: write YYYY-MM-DD HH:MI:SS") from None
    return without_zone(found)


def without_zone(moment: datetime) -> datetime:
    """Return a moment as UTC without time zone, as conditions compare moments."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def accessed(value: Any, kind: Kind) -> Any:
    """Return a column's value as this kind of value; None where it is of another kind, as ANYDATA's functions do."""
    match value:
        case None | bool():
            return None
        case FarMoment():
            return value.instant if kind is Kind.MOMENT else None
        case str():
            return value if kind is Kind.TEXT else None
        case int() | Decimal():
            return Decimal(value) if kind is Kind.NUMBER else None
        case float():
            return Decimal(repr(value)) if kind is Kind.NUMBER else None
        case datetime():
            return without_zone(value) if kind is Kind.MOMENT else None
        case date():
            return datetime(value.year, value.month, value.day) if kind is Kind.MOMENT else None
        case bytes():
            return value if kind is Kind.RAW else None
    return None
