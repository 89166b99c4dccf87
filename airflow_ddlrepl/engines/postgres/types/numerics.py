"""This module reads numerics in PostgreSQL's binary send format, all values of an array at once.

A value is a count of base-10000 digits, the weight of the first one, a sign and a scale, then the digits: big-endian
numbers of two bytes each.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

MAX_DIGITS = 38  # of a decimal
_NAN, _NEGATIVE = 0xC000, 0x4000
_SPECIAL = {_NAN: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}
_INT64_DIGITS = 18
_BASE, _BASE_DIGITS, _HEAD = 10_000, 4, 4
_PLAIN_SCALE = 6  # Arrow writes smaller numbers with an exponent
_LOW = np.uint64(0xFFFFFFFF)


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


def numeric_texts(values: pa.Array) -> pa.Array:
    """Return numerics as the server prints them."""
    found = _parsed(values)
    digits = (np.maximum(found.weight, 0) + 1) * _BASE_DIGITS + found.scale
    is_plain = (found.special == 0) & (found.scale <= _PLAIN_SCALE) & (digits <= MAX_DIGITS)
    others = np.flatnonzero(~is_plain)
    order, texts = [others], [_one_by_one(values, others)]
    for scale in np.unique(found.scale[is_plain]):
        rows = np.flatnonzero(is_plain & (found.scale == scale))
        order.append(rows)
        pairs = _pairs(found.of(rows), MAX_DIGITS, int(scale))
        texts.append(_array(pairs, MAX_DIGITS, int(scale)).cast(pa.string()))
    place = np.empty(len(is_plain), np.int64)
    place[np.concatenate(order)] = np.arange(len(place))
    return spread(pa.concat_arrays(texts).take(pa.array(place)), values)


def _one_by_one(values: pa.Array, rows: Any) -> pa.Array:
    """Return the texts of some of the values that are not NULL."""
    chosen = values.drop_null().take(pa.array(rows)) if len(rows) else []
    return pa.array([numeric_text(value.as_py()) for value in chosen], pa.string())


def decimals(values: pa.Array, precision: int, scale: int) -> pa.Array:
    """Return numerics as decimal128(precision, scale). Raises ValueError for NaN and for what does not fit."""
    found = _parsed(values)
    if found.special.any():
        raise ValueError("NaN or Infinity")
    pairs = _pairs(found, precision, scale)
    if not values.null_count:
        return _array(pairs, precision, scale)
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    spaced = np.zeros((len(values), 2), np.int64)
    spaced[valid] = pairs
    return _array(spaced, precision, scale, pa.py_buffer(np.packbits(valid, bitorder="little")))


def unfit(values: pa.Array, precision: int, scale: int) -> Any:
    """Return, as a numpy mask, which values have no equal in decimal128(precision, scale)."""
    found = _parsed(values)
    whole, fraction, most, last = _limits(precision, scale)
    first = found.words[found.first * (found.count > 0)]
    behind = found.weight + fraction
    rest = found.words[(found.first + behind) * ((behind >= 0) & (behind < found.count))] % last
    bad = found.special != 0
    bad |= (found.count > 0) & ((found.weight >= whole) | (found.count > behind + 1))
    bad |= ((found.weight == whole - 1) & (first >= most)) | (rest != 0)
    everything = np.zeros(len(values), np.bool_)
    everything[values.is_valid().to_numpy(zero_copy_only=False)] = bad
    return everything


def spread(found: pa.Array, like: pa.Array) -> pa.Array:
    """Return an array with NULLs where another one has them. found: what is not NULL there, one after the other."""
    if not like.null_count:
        return found
    valid = like.is_valid().to_numpy(zero_copy_only=False)
    return found.take(pa.array(np.cumsum(valid) - 1, mask=~valid))


class _Numerics(NamedTuple):
    """Numerics are taken apart: the digits of number n are words[first[n]:][:count[n]]; words[0] is 0."""

    words: Any
    first: Any
    count: Any
    weight: Any
    is_negative: Any
    special: Any
    scale: Any

    def of(self, rows: Any) -> _Numerics:
        """Return some of the numbers."""
        return _Numerics(self.words, *(each[rows] for each in self[1:]))


def _parsed(values: pa.Array) -> _Numerics:
    """Return the parts of the values that are not NULL."""
    values = values.drop_null() if values.null_count else values
    offsets = np.zeros(1, np.int32)
    if len(values):
        offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    low, size = int(offsets[0]), int(offsets[-1] - offsets[0]) >> 1
    words = np.zeros(size + 1, np.int32)
    if size:
        words[1:] = np.frombuffer(values.buffers()[2], ">u2", size, low)
    head = ((offsets[:-1] - low) >> 1) + 1
    sign = words[head + 2]
    weight = words[head + 1].astype(np.int16).astype(np.int32)
    return _Numerics(words, head + _HEAD, words[head], weight, sign == _NEGATIVE, sign & ~_NEGATIVE, words[head + 3])


def _array(pairs: Any, precision: int, scale: int, valid: pa.Buffer | None = None) -> pa.Array:
    """Return decimals of 128 bits each; valid: which are not NULL."""
    return pa.Array.from_buffers(pa.decimal128(precision, scale), len(pairs), [valid, pa.py_buffer(pairs)])


def _pairs(found: _Numerics, precision: int, scale: int) -> Any:
    """Return numbers times 10^scale, of 128 bits each.

    They have `whole` digits of base 10000 before the point, and `fraction` behind it.
    """
    whole, fraction, most, last = _limits(precision, scale)
    top = int(found.weight.max(initial=-1))
    if top >= whole:
        top = int(found.weight.max(initial=-1, where=found.count > 0))
    sums = _Sums(len(found.first)) if precision <= _INT64_DIGITS else _WideSums(len(found.first))
    fits = top < whole and not (found.count > found.weight + 1 + fraction).any()
    place, at, counts = found.weight - top, found.first + found.weight - top, found.count.view(np.uint32)
    for exponent in range(top, -fraction - 1, -1) if fits else ():
        digit = found.words[at * (place.view(np.uint32) < counts)]
        fits = fits and (exponent < whole - 1 or not (digit >= most).any())
        factor = _BASE
        if exponent == -fraction and last > 1:
            digit, rest = np.divmod(digit, last)
            fits, factor = fits and not rest.any(), _BASE // last
        sums.add(factor, digit)
        place += 1
        at += 1
    if not fits:
        raise ValueError("more digits than its type has")
    return sums.pairs(found.is_negative)


def _limits(precision: int, scale: int) -> tuple[int, int, int, int]:
    """Return the digits of base 10000 before the point and behind it, what the first is below, what divides the last.

    The first of all is at exponent `whole - 1`, the last one at `-fraction`.
    """
    whole, fraction = -(-(precision - scale) // _BASE_DIGITS), -(-scale // _BASE_DIGITS)
    return (
        whole,
        fraction,
        10 ** (precision - scale - _BASE_DIGITS * (whole - 1)),
        10 ** (_BASE_DIGITS * fraction - scale),
    )


class _Sums:
    """Sums are made of digits, the first one first, in 64 bits each."""

    def __init__(self, count: int) -> None:
        self._sums = np.zeros(count, np.int64)

    def add(self, factor: int, digit: Any) -> None:
        """Multiply the sums, and add a digit to each."""
        self._sums *= factor
        self._sums += digit

    def pairs(self, is_negative: Any) -> Any:
        """Return the sums in 128 bits each, with their signs."""
        pairs = np.empty((len(self._sums), 2), np.int64)
        pairs[:, 0] = np.where(is_negative, -self._sums, self._sums)
        pairs[:, 1] = pairs[:, 0] >> 63
        return pairs


class _WideSums:
    """Wide sums are made of digits, the first one first, in 128 bits each."""

    def __init__(self, count: int) -> None:
        self._low, self._high = np.zeros(count, np.uint64), np.zeros(count, np.uint64)

    def add(self, factor: int, digit: Any) -> None:
        """Multiply the sums, and add a digit to each."""
        by = np.uint64(factor)
        first = (self._low & _LOW) * by + digit.astype(np.uint64)
        second = (self._low >> np.uint64(32)) * by + (first >> np.uint64(32))
        self._low = (second << np.uint64(32)) | (first & _LOW)
        self._high = self._high * by + (second >> np.uint64(32))

    def pairs(self, is_negative: Any) -> Any:
        """Return the sums with their signs."""
        pairs = np.empty((len(self._low), 2), np.uint64)
        pairs[:, 0] = np.where(is_negative, ~self._low + np.uint64(1), self._low)
        pairs[:, 1] = np.where(is_negative, ~self._high + (self._low == 0), self._high)
        return pairs.view(np.int64)
