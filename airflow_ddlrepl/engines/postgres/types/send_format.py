"""This module reads values in PostgreSQL's binary send format, and writes their text as the server does."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

_NAN, _NEGATIVE = 0xC000, 0x4000
_SPECIAL = {_NAN: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}
_INT64_DIGITS = 18
_DAY = 86_400_000_000


def numeric_text(value: bytes) -> str:
    """Return a numeric as the server prints it, with all the digits of its scale."""
    count, weight, sign, scale = struct.unpack_from(">HhHH", value)
    if sign in _SPECIAL:
        return _SPECIAL[sign]
    digits = struct.unpack_from(f">{count}H", value, 8)

    def groups(first: int, last: int) -> str:
        return "".join(f"{digits[i] if 0 <= i < count else 0:04d}" for i in range(first, last))

    whole = groups(0, weight + 1).lstrip("0") or "0"
    fraction = groups(weight + 1, weight + 1 + (scale + 3) // 4)[:scale]
    text = f"{whole}.{fraction}" if scale else whole
    return f"-{text}" if sign == _NEGATIVE else text


def decimals(values: pa.Array, precision: int, scale: int) -> pa.Array:
    """Return numerics as decimal128(precision, scale). Raises ValueError for NaN and for what does not fit."""
    of = pa.decimal128(precision, scale)
    if precision > _INT64_DIGITS:
        return pa.array([None if v is None else numeric_text(v) for v in values.to_pylist()], pa.string()).cast(of)
    numbers, valid = _scaled(values, scale)
    if (np.abs(numbers) >= 10**precision).any():
        raise ValueError("more digits than its type has")
    pairs = np.stack([numbers, numbers >> 63], axis=1)
    bits = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(of, len(values), [bits, pa.py_buffer(np.ascontiguousarray(pairs))])


def _scaled(values: pa.Array, scale: int) -> tuple[Any, Any]:
    """Return numerics times 10^scale as int64, 0 for NULL, and which are not NULL."""
    valid = np.asarray(values.is_valid())
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    data = np.frombuffer(values.buffers()[2] or b"\0\0", np.uint8)
    rows = np.flatnonzero(valid)
    start = offsets[:-1][rows].astype(np.int64)

    def short(at: Any) -> Any:
        return (data[at].astype(np.int64) << 8) | data[at + 1]

    count, sign = short(start), short(start + 4)
    weight = short(start + 2).astype(np.uint16).view(np.int16).astype(np.int64) if len(start) else count
    if not np.isin(sign, (0, _NEGATIVE)).all():
        raise ValueError("NaN or Infinity")
    sums = np.zeros(len(rows), np.int64)
    for number in range(int(count.max(initial=0))):
        has = np.flatnonzero(count > number)
        digit, power = short(start[has] + 8 + 2 * number), 4 * (weight[has] - number) + scale
        if (power > _INT64_DIGITS - 1).any() or (power < -3).any():
            raise ValueError("more digits than its type has")
        sums[has] += digit * 10 ** np.maximum(power, 0) // 10 ** np.maximum(-power, 0)
    found = np.zeros(len(values), np.int64)
    found[rows] = np.where(sign == _NEGATIVE, -sums, sums)
    return found, valid


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
    "numeric": numeric_text,
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
