"""This module reads values in PostgreSQL's binary send format one by one, and writes their text as the server does.

A text is what the server writes under `connection.settings.VALUES`.
"""

from __future__ import annotations

import ipaddress
import math
import re
import struct
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np

from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import BUILTIN
from airflow_ddlrepl.engines.postgres.types.moments import date_text, moment_text
from airflow_ddlrepl.engines.postgres.types.numerics import numeric_text
from airflow_ddlrepl.engines.postgres.types.underlying import builtin_name

_QUOTED_ITEM = re.compile(r'[ \t\n\r\v\f"\\{},]|\A\Z|\A[Nn][Uu][Ll][Ll]\Z')
_QUOTED_BOX = re.compile(r'[ \t\n\r\v\f"\\{};]')
_QUOTED_BOUND = re.compile(r'[ \t\n\r\v\f"\\()\[\],]|\A\Z')
_EMPTY, _LOW_INCLUDED, _HIGH_INCLUDED, _LOW_OPEN, _HIGH_OPEN = 1, 2, 4, 8, 16
_WEIGHTS = ("", "C", "B", "A")
_INFINITE = ((2**63 - 1, 2**31 - 1, 2**31 - 1), (-(2**63), -(2**31), -(2**31)))  # from version 17 on
_FLOAT_DIGITS = {4: 6, 8: 15}  # from which exponent on the server writes a float with one, by the value's size


def time_text(micros: int) -> str:
    """Return a time of day as the server prints it, from microseconds since midnight."""
    seconds, fraction = divmod(micros, 1_000_000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:06d}".rstrip("0") if fraction else text


def _integer(value: bytes) -> str:
    return str(int.from_bytes(value, "big", signed=True))


def _unsigned(value: bytes) -> str:
    return str(int.from_bytes(value, "big"))


def _boolean(value: bytes) -> str:
    return "t" if value[0] else "f"


def _bytes(value: bytes) -> str:
    return f"\\x{value.hex()}"


def _char(value: bytes) -> str:
    code = value[0] if value else 0
    return "" if code == 0 else chr(code) if code < 128 else f"\\{code:03o}"


def float_text(number: np.floating[Any]) -> str:
    """Return a float by the fewest digits that give it again."""
    if not np.isfinite(number):
        return "NaN" if np.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "-0" if np.signbit(number) else "0"
    digits = _digits(number)
    if -4 <= digits.adjusted() < _FLOAT_DIGITS[number.itemsize]:
        return f"{digits:f}"
    mantissa = digits.scaleb(-digits.adjusted())
    return f"{mantissa:f}e{digits.adjusted():+03d}"


def _digits(number: np.floating[Any]) -> Decimal:
    """Return the fewest digits that are closer to the number than to any other; the middle is close to none."""
    exact, found = Decimal(float(number)), Decimal(np.format_float_scientific(number, trim="-"))
    other = np.nextafter(number, type(number)(math.copysign(math.inf, found - exact)))
    more = len(found.as_tuple().digits)
    while found != exact and abs(found - exact) * 2 == abs(Decimal(float(other)) - exact):
        found = Decimal(f"{float(number):.{more}e}")
        more += 1
    return found.normalize()


def _float(value: bytes) -> str:
    return float_text(np.frombuffer(value, f">f{len(value)}")[0].astype(f"f{len(value)}"))


def _money(value: bytes) -> str:
    cents = int.from_bytes(value, "big", signed=True)
    return f"{'-' if cents < 0 else ''}${abs(cents) // 100:,}.{abs(cents) % 100:02d}"


def _lsn(value: bytes) -> str:
    high, low = struct.unpack(">II", value)
    return f"{high:X}/{low:X}"


def _row_place(value: bytes) -> str:
    return "({},{})".format(*struct.unpack(">IH", value))


def _snapshot(value: bytes) -> str:
    count, low, high = struct.unpack_from(">iqq", value)
    return f"{low}:{high}:{','.join(map(str, struct.unpack_from(f'>{count}q', value, 20)))}"


def _address(value: bytes) -> str:
    _, bits, is_network, _ = value[:4]
    address = ipaddress.ip_address(value[4:])
    if address.version == 6 and address.ipv4_mapped is not None:
        text = f"::ffff:{address.ipv4_mapped}"
    else:
        text = str(address)
    return text if bits == address.max_prefixlen and not is_network else f"{text}/{bits}"


def _hardware(value: bytes) -> str:
    return ":".join(f"{byte:02x}" for byte in value)


def _bits(value: bytes) -> str:
    (count,) = struct.unpack_from(">i", value)
    return "".join(f"{byte:08b}" for byte in value[4:])[:count]


def _interval(value: bytes) -> str:
    micros, days, months = struct.unpack(">qii", value)
    if (micros, days, months) in _INFINITE:
        return "infinity" if months > 0 else "-infinity"
    years = int(months / 12)
    found, is_before = "", False
    for number, unit in ((years, "year"), (months - 12 * years, "mon"), (days, "day")):
        if number:
            sign = "+" if is_before and number > 0 else ""
            found += f"{' ' if found else ''}{sign}{number} {unit}{'' if number == 1 else 's'}"
            is_before = number < 0
    if micros or not found:
        sign = "-" if micros < 0 else "+" if is_before else ""
        found += f"{' ' if found else ''}{sign}{time_text(abs(micros))}"
    return found


def iso_interval(value: bytes) -> str:
    """Return an interval in ISO 8601, as the server prints it with IntervalStyle iso_8601."""
    micros, days, months = struct.unpack(">qii", value)
    if (micros, days, months) in _INFINITE:
        return "infinity" if months > 0 else "-infinity"
    years, months = int(months / 12), months - 12 * int(months / 12)
    sign, size = "-" if micros < 0 else "", abs(micros)
    seconds, fraction = size // 1_000_000 % 60, size % 1_000_000
    hours, minutes = size // 3_600_000_000, size // 60_000_000 % 60
    second = f"{seconds}.{fraction:06d}".rstrip("0") if fraction else str(seconds)
    date = "".join(f"{n}{unit}" for n, unit in ((years, "Y"), (months, "M"), (days, "D")) if n)
    parts = ((str(hours), "H"), (str(minutes), "M"), (second, "S"))
    time = "".join(f"{sign}{n}{unit}" for n, unit in parts if n != "0")
    return f"P{date}{'T' if time else ''}{time}" if date or time else "PT0S"


def _time(value: bytes) -> str:
    return time_text(int.from_bytes(value, "big"))


def _time_with_zone(value: bytes) -> str:
    micros, west = struct.unpack(">qi", value)
    sign, seconds = ("-" if west > 0 else "+"), abs(west)
    zone = f"{sign}{seconds // 3600:02d}"
    if seconds % 3600:
        zone += f":{seconds // 60 % 60:02d}"
    return time_text(micros) + (f"{zone}:{seconds % 60:02d}" if seconds % 60 else zone)


def _date(value: bytes) -> str:
    return date_text(int.from_bytes(value, "big", signed=True))


def _moment(value: bytes) -> str:
    return moment_text(int.from_bytes(value, "big", signed=True))


def _moment_of_utc(value: bytes) -> str:
    return moment_text(int.from_bytes(value, "big", signed=True), "+00")


def _versioned(value: bytes) -> str:
    return value[1:].decode()


def _floats(value: bytes, start: int = 0) -> list[str]:
    return [_float(value[place : place + 8]) for place in range(start, len(value), 8)]


def _points(value: bytes, start: int = 0) -> str:
    numbers = _floats(value, start)
    return ",".join(f"({x},{y})" for x, y in zip(numbers[::2], numbers[1::2], strict=True))


def _path(value: bytes) -> str:
    return f"({_points(value, 5)})" if value[0] else f"[{_points(value, 5)}]"


def _circle(value: bytes) -> str:
    x, y, radius = _floats(value)
    return f"<({x},{y}),{radius}>"


def _lexemes(value: bytes) -> str:
    """Return a tsvector: words in quotes, each with its places and their weights."""
    (count,) = struct.unpack_from(">i", value)
    place, words = 4, []
    for _ in range(count):
        end = value.index(0, place)
        word = value[place:end].decode().replace("\\", "\\\\").replace("'", "''")
        (positions,) = struct.unpack_from(">H", value, end + 1)
        found = struct.unpack_from(f">{positions}H", value, end + 3)
        place = end + 3 + 2 * positions
        at = ",".join(f"{one & 0x3FFF}{_WEIGHTS[one >> 14]}" for one in found)
        words.append(f"'{word}'{':' if at else ''}{at}")
    return " ".join(words)


def pieces(value: bytes, place: int, count: int) -> Iterator[bytes | None]:
    """Yield values that are each behind their length; None for NULL, whose length is -1."""
    for _ in range(count):
        (length,) = struct.unpack_from(">i", value, place)
        place += 4
        yield None if length < 0 else value[place : place + length]
        place += max(length, 0)


def array_head(value: bytes) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Return the oid of an array's elements, the size of each of its dimensions, and the number of its first element.

    The elements begin at byte 12 + 8 for each dimension.
    """
    dimensions, _, oid = struct.unpack_from(">iiI", value)
    numbers = struct.unpack_from(f">{2 * dimensions}i", value, 12)
    return oid, numbers[::2], numbers[1::2]


def _array(value: bytes) -> str:
    oid, sizes, firsts = array_head(value)
    if not sizes:
        return "{}"
    total = int(np.prod(sizes))
    comma, special = (";", _QUOTED_BOX) if oid == _BOX else (",", _QUOTED_ITEM)
    write = TEXTS[_NAMES[oid]]
    found = pieces(value, 12 + 8 * len(sizes), total)
    items = ["NULL" if one is None else _quoted(write(one), special) for one in found]
    for size in reversed(sizes):
        items = [f"{{{comma.join(items[at : at + size])}}}" for at in range(0, len(items), size)]
    if set(firsts) == {1}:
        return items[0]
    bounds = "".join(f"[{first}:{first + size - 1}]" for first, size in zip(firsts, sizes, strict=True))
    return f"{bounds}={items[0]}"


def _quoted(text: str, special: re.Pattern[str]) -> str:
    if not special.search(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _range_of(of: str) -> Callable[[bytes], str]:
    """Return what writes ranges whose bounds have the type of this name."""

    def bound(value: bytes) -> str:
        text = TEXTS[of](value)
        if not _QUOTED_BOUND.search(text):
            return text
        escaped = text.replace("\\", "\\\\").replace('"', '""')
        return f'"{escaped}"'

    def write(value: bytes) -> str:
        flags = value[0]
        if flags & _EMPTY:
            return "empty"
        bounds = pieces(value, 1, (not flags & _LOW_OPEN) + (not flags & _HIGH_OPEN))
        low = "" if flags & _LOW_OPEN else bound(next(bounds) or b"")
        high = "" if flags & _HIGH_OPEN else bound(next(bounds) or b"")
        return f"{'[' if flags & _LOW_INCLUDED else '('}{low},{high}{']' if flags & _HIGH_INCLUDED else ')'}"

    return write


def _many(write: Callable[[bytes], str]) -> Callable[[bytes], str]:
    """Return what writes multiranges of such ranges."""
    return lambda value: f"{{{','.join(write(one or b'') for one in pieces(value, 4, _count(value)))}}}"


def _count(value: bytes) -> int:
    return int.from_bytes(value[:4], "big")


_RANGES = {
    "int4range": _range_of("int4"),
    "int8range": _range_of("int8"),
    "numrange": _range_of("numeric"),
    "daterange": _range_of("date"),
    "tsrange": _range_of("timestamp"),
    "tstzrange": _range_of("timestamptz"),
}
TEXTS: dict[str, Callable[[bytes], str]] = {
    "bool": _boolean,
    "bytea": _bytes,
    "char": _char,
    **dict.fromkeys(("int2", "int4", "int8"), _integer),
    **dict.fromkeys(("float4", "float8"), _float),
    **dict.fromkeys(("oid", "xid", "cid", "xid8"), _unsigned),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "json", "xml", "refcursor", "enum"), bytes.decode),
    **dict.fromkeys(("jsonb", "jsonpath"), _versioned),
    **dict.fromkeys(("inet", "cidr"), _address),
    **dict.fromkeys(("macaddr", "macaddr8"), _hardware),
    **dict.fromkeys(("bit", "varbit"), _bits),
    **dict.fromkeys(("pg_snapshot", "txid_snapshot"), _snapshot),
    "pg_lsn": _lsn,
    "tid": _row_place,
    "money": _money,
    "numeric": numeric_text,
    "uuid": lambda value: str(uuid.UUID(bytes=value)),
    "date": _date,
    "time": _time,
    "timetz": _time_with_zone,
    "timestamp": _moment,
    "timestamptz": _moment_of_utc,
    "interval": _interval,
    "tsvector": _lexemes,
    "point": _points,
    "box": _points,
    "lseg": lambda value: f"[{_points(value)}]",
    "polygon": lambda value: f"({_points(value, 4)})",
    "path": _path,
    "line": lambda value: f"{{{','.join(_floats(value))}}}",
    "circle": _circle,
    **_RANGES,
    **{name.replace("range", "multirange"): _many(write) for name, write in _RANGES.items()},
}
"""How values of a type in send format become text, by the type's name in the catalog."""
_NAMES = {oid: builtin_name(name) for oid, (_, name) in BUILTIN.items()}
_BOX = 603
TEXTS.update({f"{name}[]": _array for name in tuple(TEXTS)})
