"""This module reads and writes dates and moments as the server does, for any year: Python's end at 1 and 9999.

A date is a number of days, a moment one of microseconds; both count from 2000-01-01, and the first and the last number
are the infinities. Years before 1 are written with BC.
"""

from __future__ import annotations

import re

DAYS, MICROS = 10_957, 946_684_800_000_000  # from 1970 to 2000, where PostgreSQL counts from
DAY = 86_400_000_000
"""How many microseconds a day has."""
INFINITIES = ("-infinity", "infinity")
_ERA = 146_097  # days of 400 years
_TO_2000 = 730_425  # days from 0000-03-01 to 2000-01-01
_DATE = re.compile(r"(\d{4,7})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?(?:\+00)?( BC)?")


def date_text(days: int) -> str:
    """Return a date as the server prints it."""
    if not -(1 << 31) < days < (1 << 31) - 1:
        return INFINITIES[days > 0]
    year, text = _calendar(days)
    return f"{text} BC" if year < 1 else text


def moment_text(micros: int, zone: str = "") -> str:
    """Return a timestamp as the server prints it. zone: `+00` for one with a zone."""
    if not -(1 << 63) < micros < (1 << 63) - 1:
        return INFINITIES[micros > 0]
    days, rest = divmod(micros, DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    year, text = _calendar(days)
    time = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    fractions = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{text} {time}{fractions}{zone}{' BC' if year < 1 else ''}"


def since_1970(text: str) -> tuple[int, int] | None:
    """Return days since 1970 and microseconds since midnight of a date or moment in UTC; None for another text."""
    if (found := _DATE.fullmatch(text)) is None:
        return None
    year = 1 - int(found[1]) if found[8] else int(found[1])
    days = _days(year, int(found[2]), int(found[3])) + DAYS
    seconds = int(found[4] or 0) * 3600 + int(found[5] or 0) * 60 + int(found[6] or 0)
    return days, seconds * 1_000_000 + int((found[7] or "").ljust(6, "0"))


def _days(year: int, month: int, day: int) -> int:
    """Return the days from 2000-01-01 to a day; a year begins in March here."""
    year -= month < 3
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + of_year - _TO_2000


def _calendar(days: int) -> tuple[int, str]:
    """Return year, 0 for 1 BC, and text of a date without BC."""
    era, of_era = divmod(days + _TO_2000, _ERA)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    year += era * 400 + (month < 3)
    return year, f"{year if year > 0 else 1 - year:04d}-{month:02d}-{day:02d}"
