"""This module translates Oracle's error numbers into the SQLSTATEs with which PostgreSQL answers the same mistake."""

from __future__ import annotations

SQLSTATES = {
    1: "23505",
    54: "55P03",
    60: "40P01",
    900: "42601",
    901: "42601",
    902: "42704",
    903: "42601",
    904: "42703",
    907: "42601",
    922: "42601",
    942: "42P01",
    955: "42P07",
    957: "42701",
    1031: "42501",
    1418: "42704",
    1430: "42701",
    1435: "3F000",
    1758: "23502",
    1917: "42704",
    1918: "42704",
    1919: "42704",
    1920: "42710",
    1921: "42710",
    2260: "42P16",
    2264: "42710",
    2289: "42P01",
    2291: "23503",
    2292: "23503",
    2293: "23514",
    2296: "23502",
    2298: "23503",
    2299: "23505",
    2437: "23505",
    2443: "42704",
    2449: "2BP01",
    4080: "42704",
    4081: "42710",
    12899: "22001",
}
"""The SQLSTATE of PostgreSQL for an Oracle error number, where both mean the same."""


def sqlstate(number: int) -> str | None:
    """Return the SQLSTATE of PostgreSQL for an Oracle error number; None: none means the same."""
    return SQLSTATES.get(number)
