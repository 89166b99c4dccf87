"""How conditions compute with numbers: exactly, and with NaN and infinity as PostgreSQL does, whatever a row has.

NaN equals itself and is the greatest number. What has no answer raises ArithmeticError or ValueError.
"""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from typing import Any

_DIGITS = 1_000_000  # far more than those of a number that a column can have
_EXACT = Context(_DIGITS, traps=[InvalidOperation, Overflow], Emax=10**9, Emin=-(10**9))
_QUOTIENT = Context(40, traps=[InvalidOperation, Overflow], Emax=10**9, Emin=-(10**9))
_FURTHEST = 1 << 31
_NAN, _ZERO = Decimal("NaN"), Decimal(0)


def is_nan(value: Any) -> bool:
    """Return whether a value of a condition is NaN."""
    return isinstance(value, Decimal) and value.is_nan()


def ordered(value: Any) -> tuple[bool, Any]:
    """Return what orders values of one kind, of which NaN is the greatest and equals itself."""
    return (True, 0) if is_nan(value) else (False, value)


def calculated(sign: str, left: Decimal, right: Decimal) -> Decimal:
    """Return what + - * or / of two numbers is. Raises DivisionByZero."""
    if sign == "/" and right == _ZERO:
        raise DivisionByZero
    work = _QUOTIENT if sign == "/" else _EXACT
    run = {"+": work.add, "-": work.subtract, "*": work.multiply, "/": work.divide}[sign]
    if left.is_finite() and right.is_finite():
        return run(left, right)
    try:
        return run(left, right)
    except InvalidOperation:  # infinity less infinity, times 0, or divided by infinity
        return _NAN


def rounded(number: Decimal, digits: Decimal = _ZERO, how: str = ROUND_HALF_UP) -> Decimal:
    """Return a number with so many digits behind the point."""
    if not number.is_finite():
        return number
    places = place(digits)
    if places >= -int(number.as_tuple().exponent):
        return number
    if -places > number.adjusted() + 1:
        return _ZERO
    return number.quantize(Decimal(1).scaleb(-places, _EXACT), rounding=how, context=_EXACT)


def truncated(number: Decimal, digits: Decimal = _ZERO) -> Decimal:
    """Return a number without what stands behind so many digits."""
    return rounded(number, digits, ROUND_DOWN)


def remainder(left: Decimal, right: Decimal) -> Decimal:
    """Return what is left of a division, as Oracle's MOD: of one by 0, the number itself."""
    if right == _ZERO or is_nan(left) or is_nan(right):
        return left if right == _ZERO else _NAN
    if left.is_infinite():
        return _NAN
    return left if right.is_infinite() else _EXACT.remainder(left, right)


def sign(number: Decimal) -> Decimal:
    """Return -1, 0 or 1; NaN of NaN."""
    return number if number.is_nan() else Decimal((number > 0) - (number < 0))


def common_bits(left: Decimal, right: Decimal) -> Decimal:
    """Return the bits that two whole numbers have in common. Raises ValueError for a number that has none."""
    for number in (left, right):
        if not number.is_finite() or number.adjusted() > _DIGITS:
            raise ValueError(f"{number:.3E} has no bits")
    return Decimal(int(left) & int(right))


def place(number: Decimal) -> int:
    """Return a number as a place in a text; one beyond all texts is a place behind or before them.

    Raises ValueError for NaN.
    """
    if number.is_nan():
        raise ValueError("NaN is no place")
    return int(max(Decimal(-_FURTHEST), min(Decimal(_FURTHEST), number)))
