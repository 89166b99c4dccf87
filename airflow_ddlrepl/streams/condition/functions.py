"""This module is the table of the functions of SQL that a condition may call: types, and what each computes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from airflow_ddlrepl.streams.condition import numbers
from airflow_ddlrepl.streams.condition.kinds import Kind

_LONGEST = 1 << 30


class Function(NamedTuple):
    """A function of SQL: the kinds of its arguments, its own kind, and how it is computed.

    takes: None stands for a value of any kind, all of one kind. optional: how many of the last may be left out.
    gives: None: the kind of the arguments.
    repeats: the last argument may be repeated. has_nulls: it is called with NULLs, too; others give NULL then.
    """

    takes: tuple[Kind | None, ...]
    gives: Kind | None
    run: Callable[..., Any]
    optional: int = 0
    repeats: bool = False
    has_nulls: bool = False


def _substring(text: str, start: Decimal, length: Decimal | None = None) -> str | None:
    """Return a part of a text as Oracle's SUBSTR does: 0 is 1, a negative start counts from the end."""
    first, count = numbers.place(start), None if length is None else numbers.place(length)
    begin = len(text) + first if first < 0 else max(first - 1, 0)
    if begin < 0 or begin >= len(text) or (count is not None and count < 1):
        return None
    return text[begin:] if count is None else text[begin : begin + count]


def _replaced(text: str, part: str, by: str = "") -> str | None:
    """Return a text with another part. Raises ValueError for one that is too long: two texts can make any length."""
    if part and len(by) > len(part) and text.count(part) * (len(by) - len(part)) > _LONGEST:
        raise ValueError("the text is too long")
    return _if_empty(text.replace(part, by))


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _unless_equal(left: Any, right: Any) -> Any:
    return None if numbers.ordered(left) == numbers.ordered(right) else left


def _greatest(*values: Any) -> Any:
    return max(values, key=numbers.ordered)


def _least(*values: Any) -> Any:
    return min(values, key=numbers.ordered)


def _if_empty(text: str) -> str | None:
    """Return a text; NULL for an empty one, which Oracle's functions give."""
    return text or None


def _concatenated(*texts: str | None) -> str | None:
    return _if_empty("".join(text or "" for text in texts))


_T, _N = Kind.TEXT, Kind.NUMBER
FUNCTIONS = {
    "UPPER": Function((_T,), _T, str.upper),
    "LOWER": Function((_T,), _T, str.lower),
    "SUBSTR": Function((_T, _N, _N), _T, _substring, optional=1),
    "INSTR": Function((_T, _T), _N, lambda text, part: Decimal(text.find(part) + 1)),
    "LENGTH": Function((_T,), _N, lambda text: Decimal(len(text))),
    "TRIM": Function((_T,), _T, lambda text: _if_empty(text.strip(" "))),
    "LTRIM": Function((_T, _T), _T, lambda text, signs=" ": _if_empty(text.lstrip(signs)), optional=1),
    "RTRIM": Function((_T, _T), _T, lambda text, signs=" ": _if_empty(text.rstrip(signs)), optional=1),
    "REPLACE": Function((_T, _T, _T), _T, _replaced, optional=1),
    "CONCAT": Function((_T, _T), _T, _concatenated, has_nulls=True),
    "||": Function((_T, _T), _T, _concatenated, has_nulls=True),
    "ABS": Function((_N,), _N, Decimal.copy_abs),
    "SIGN": Function((_N,), _N, numbers.sign),
    "FLOOR": Function((_N,), _N, lambda number: Decimal(number).to_integral_value("ROUND_FLOOR")),
    "CEIL": Function((_N,), _N, lambda number: Decimal(number).to_integral_value("ROUND_CEILING")),
    "ROUND": Function((_N, _N), _N, numbers.rounded, optional=1),
    "TRUNC": Function((_N, _N), _N, numbers.truncated, optional=1),
    "MOD": Function((_N, _N), _N, numbers.remainder),
    "BITAND": Function((_N, _N), _N, numbers.common_bits),
    "NVL": Function((None, None), None, _first, has_nulls=True),
    "COALESCE": Function((None, None), None, _first, repeats=True, has_nulls=True),
    "NULLIF": Function((None, None), None, _unless_equal, has_nulls=True),
    "GREATEST": Function((None, None), None, _greatest, repeats=True),
    "LEAST": Function((None, None), None, _least, repeats=True),
    "RAWTOHEX": Function((Kind.RAW,), _T, lambda raw: raw.hex().upper()),
}
NOT_THE_SAME_AGAIN = frozenset(
    [
        "SYSDATE",
        "SYSTIMESTAMP",
        "CURRENT_DATE",
        "CURRENT_TIMESTAMP",
        "LOCALTIMESTAMP",
        "USER",
        "UID",
        "USERENV",
        "SYS_CONTEXT",
        "ROWNUM",
    ]
)
"""What gives another value when a change is evaluated again, such as after a failure."""
