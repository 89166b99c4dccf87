"""Write numbers and moments as a person reads them on the pages: 12 s, 3 min, 4.2 MB, 14:02 UTC."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))
_SIZES = ("bytes", "kB", "MB", "GB", "TB", "PB")
NOT_KNOWN = "not known"


def duration(seconds: float | None) -> str:
    """Return a length of time in its largest unit, with one place behind the point where that says more."""
    if seconds is None:
        return NOT_KNOWN
    for length, unit in _UNITS:
        if abs(seconds) >= 2 * length:
            return f"{seconds / length:.0f} {unit}" if abs(seconds) >= 10 * length else f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s" if abs(seconds) >= 10 or seconds == int(seconds) else f"{seconds:.1f} s"


def size(number: float | None) -> str:
    """Return a number of bytes in the unit that leaves at most three digits in front of the point."""
    if number is None:
        return NOT_KNOWN
    left, place = float(number), 0
    while abs(left) >= 999.5 and place < len(_SIZES) - 1:
        left, place = left / 1000, place + 1
    return f"{left:.0f} {_SIZES[place]}" if place == 0 or abs(left) >= 100 else f"{left:.1f} {_SIZES[place]}"


def count(number: float | None) -> str:
    """Return a number with its thousands apart."""
    return NOT_KNOWN if number is None else f"{number:,.0f}"


def moment(text: str | datetime | None) -> datetime | None:
    """Return the moment that a text in ISO form names, in UTC; None where it names none."""
    if text is None or text == "":
        return None
    try:
        found = text if isinstance(text, datetime) else datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def ago(text: str | datetime | None, now: datetime) -> str:
    """Return how long ago a moment was."""
    at = moment(text)
    if at is None:
        return "never"
    seconds = (now - at).total_seconds()
    return "just now" if seconds < 1 else f"{duration(round(seconds))} ago"


def time_of_day(text: str | datetime | None) -> str:
    """Return the time of a moment, without its day."""
    at = moment(text)
    return "" if at is None else f"{at:%H:%M:%S} UTC"


def clock(text: str | datetime | None) -> str:
    """Return a moment in full, to be shown beside how long ago it was."""
    at = moment(text)
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"
