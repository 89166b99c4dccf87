"""Moments that Python's dates and times do not have: infinity, years before Christ and after 9999."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from functools import total_ordering

_BEGIN = datetime(1, 1, 1)
_MICROSECOND, _DAY = timedelta(microseconds=1), 86_400_000_000
_YEARS, _DAYS = 400, 146_097  # the calendar repeats itself
_TEXT = re.compile(
    r"(\d{4,6})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?"
    r"(?:([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?)?( BC)?",
    re.ASCII,
)


@total_ordering
class Instant:
    """An instant is a moment that is compared with others, be they Python's or far away. micros: since the year 1."""

    __slots__ = ("micros",)

    def __init__(self, micros: float) -> None:
        self.micros = micros

    def __eq__(self, other: object) -> bool:
        return self.micros == _micros(other) if isinstance(other, Instant | datetime) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self.micros < _micros(other) if isinstance(other, Instant | datetime) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.micros)


class FarMoment(str):
    """A far moment is the server's text of a date or time that no Python value is; functions get it as a text."""

    __slots__ = ()

    @property
    def instant(self) -> Instant:
        """Return it as conditions compare it: UTC where it has a time zone. Raises ValueError for another text."""
        if self.strip() in ("infinity", "-infinity"):
            return Instant(float(self))
        found = _TEXT.fullmatch(self.strip())
        if found is None:
            raise ValueError(f"'{self}' is no date")
        year = 1 - int(found[1]) if found[12] else int(found[1])
        cycles, of_cycle = divmod(year - 1, _YEARS)
        days = date(of_cycle + 1, int(found[2]), int(found[3])).toordinal() - 1 + cycles * _DAYS
        seconds = int(found[4] or 0) * 3600 + int(found[5] or 0) * 60 + int(found[6] or 0)
        offset = int(found[9] or 0) * 3600 + int(found[10] or 0) * 60 + int(found[11] or 0)
        seconds += offset if found[8] == "-" else -offset
        return Instant(days * _DAY + seconds * 1_000_000 + int((found[7] or "").ljust(6, "0")))


def _micros(of: Instant | datetime) -> float:
    return of.micros if isinstance(of, Instant) else (of - _BEGIN) // _MICROSECOND


def read_moment(text: str) -> datetime | FarMoment:
    """Return the moment that a server's text is."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return FarMoment(text)
