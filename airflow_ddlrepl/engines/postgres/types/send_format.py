"""This module reads values in PostgreSQL's binary send format one by one, and writes their text as the server does."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable


def time_text(micros: int) -> str:
    """Return a time of day as the server prints it, from microseconds since midnight."""
    seconds, fraction = divmod(micros, 1_000_000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:06d}".rstrip("0") if fraction else text


def _unsigned(value: bytes) -> str:
    return str(int.from_bytes(value, "big"))


def _lsn(value: bytes) -> str:
    high, low = struct.unpack(">II", value)
    return f"{high:X}/{low:X}"


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
    """Return an interval in ISO 8601, as the server prints it with IntervalStyle iso_8601."""
    micros, days, months = struct.unpack(">qii", value)
    if (months, days) in ((0x7FFFFFFF, 0x7FFFFFFF), (-0x80000000, -0x80000000)):
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


def _time_with_zone(value: bytes) -> str:
    micros, west = struct.unpack(">qi", value)
    sign, seconds = ("-" if west > 0 else "+"), abs(west)
    zone = f"{sign}{seconds // 3600:02d}"
    if seconds % 3600:
        zone += f":{seconds // 60 % 60:02d}"
    return time_text(micros) + (f"{zone}:{seconds % 60:02d}" if seconds % 60 else zone)


TEXTS: dict[str, Callable[[bytes], str]] = {
    "oid": _unsigned,
    "xid": _unsigned,
    "cid": _unsigned,
    "xid8": _unsigned,
    "pg_lsn": _lsn,
    "inet": _address,
    "cidr": _address,
    "macaddr": _hardware,
    "macaddr8": _hardware,
    "bit": _bits,
    "varbit": _bits,
    "interval": _interval,
    "timetz": _time_with_zone,
}
"""How values of a type in send format become text, by the type's name in the catalog."""
