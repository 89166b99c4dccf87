"""Choose the marks of a chart's axes, so that they are round numbers in the unit that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

_SECONDS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_TIMES = (60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)


def marks(highest: float, most: int = 4) -> list[float]:
    """Return the marks of an axis of numbers, from 0 to the first one that is not below the highest value."""
    step, power = 1.0, 1.0
    while power * 10 <= max(highest, 1) / most:
        power *= 10
    for factor in (1, 2, 5, 10):
        step = factor * power
        if step * most >= highest:
            break
    return _up_to(highest, step)


def duration_marks(highest: float, most: int = 4) -> list[float]:
    """Return the marks of an axis of seconds: whole minutes, hours and days where they are that long."""
    step = next((one for one in _SECONDS if one * most >= highest), None)
    return _up_to(highest, step) if step else [86400 * one for one in marks(highest / 86400, most)]


def time_marks(first: float, last: float, most: int = 5) -> list[tuple[float, str]]:
    """Return the marks of an axis of moments (seconds since 1970), each with its text in UTC.

    The first mark of each day has the date.
    """
    step = next((one for one in _TIMES if one * most >= last - first), _TIMES[-1])
    if last - first > step * most:
        step = int((last - first) / most // 86400 + 1) * 86400
    start = int(first // step + 1) * step
    return [(at, _time(at, step, is_first=at == start)) for at in range(start, int(last) + 1, step)]


def _time(at: int, step: int, *, is_first: bool) -> str:
    into_the_day = at % 86400
    if step >= 86400 or into_the_day == 0:
        shape = "%d %b"
    else:
        shape = "%d %b %H:%M" if is_first or into_the_day < step else "%H:%M"
    return datetime.fromtimestamp(at, UTC).strftime(shape)


def _up_to(highest: float, step: float) -> list[float]:
    found: list[float] = [0.0]
    while found[-1] < highest or len(found) < 2:
        found.append(round(found[-1] + step, 6))
    return found


def highest(series: Sequence[Sequence[tuple[float, float | None]]]) -> float:
    """Return the highest value of all series; 0 where there is none."""
    return max((value for one in series for _, value in one if value is not None), default=0.0)
