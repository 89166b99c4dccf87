"""Draw charts over time as SVG, at the server: lines for lag, stacked bars for rows and for the time of stages.

No script draws them, so they need no library. Each has a text that says what it shows, a tooltip per moment, and a
table with the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from markupsafe import Markup

from airflow_ddlrepl.plugin.drawing.words import count, duration, size

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


WIDTH, HEIGHT = 460, 190
LEFT, RIGHT, TOP, BOTTOM = 64, 10, 10, 24
HALF_A_TEXT = 40  # of a mark with a date and a time
MOST_POINTS = 160
"""So many moments a chart has at most: of those in between the highest value is drawn."""

Points = Sequence[tuple[float, float | None]]
"""Moments as seconds since 1970, in order, each with its value; None: it is not known there."""


@dataclass(frozen=True)
class Unit:
    """A unit says how values are written, and where an axis has its marks."""

    text: Callable[[float | None], str]
    marks: Callable[[float], list[float]]


SECONDS, BYTES, NUMBER = Unit(duration, duration_marks), Unit(size, marks), Unit(count, marks)


@dataclass(frozen=True)
class Chart:
    """A chart is ready for a page. names: of the series, in the order of their colours. rows: the newest values."""

    title: str
    svg: Markup
    names: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def line_chart(title: str, series: Mapping[str, Points], unit: Unit) -> Chart | None:
    """Return a chart with a line per series; None when there is no value to draw."""
    return _chart(title, series, unit, _lines, is_stacked=False)


def bar_chart(title: str, series: Mapping[str, Points], unit: Unit) -> Chart | None:
    """Return a chart with a bar per moment, of the series on top of each other; None when there is nothing to draw."""
    return _chart(title, series, unit, _bars, is_stacked=True)


Draw = Callable[["_Scale", Sequence[Points]], list[Markup]]


def _chart(title: str, series: Mapping[str, Points], unit: Unit, draw: Draw, *, is_stacked: bool) -> Chart | None:
    times = sorted({at for points in series.values() for at, value in points if value is not None})
    if not times:
        return None
    thin = _thinned(series, times)
    values = list(thin.values())
    top = max(map(sum, _columns(values).values())) if is_stacked else highest(values)
    scale = _Scale(times[0], max(times[-1], times[0] + 60), unit.marks(top))
    said = _summary(title, series, unit)
    parts = [*_axes(scale, unit), *draw(scale, values), *_tips(scale, thin, unit)]
    svg = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, said, Markup("").join(parts)
    )
    return Chart(title, svg, tuple(series), _rows(thin, unit))


@dataclass(frozen=True)
class _Scale:
    first: float
    last: float
    marks: list[float]

    def x(self, at: float) -> float:
        return round(LEFT + (at - self.first) / (self.last - self.first) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        return round(HEIGHT - BOTTOM - value / self.marks[-1] * (HEIGHT - TOP - BOTTOM), 1)


def _thinned(series: Mapping[str, Points], times: Sequence[float]) -> dict[str, Points]:
    """Return at most MOST_POINTS moments of each series, with the highest value around each."""
    if len(times) <= MOST_POINTS:
        return dict(series)
    width = (times[-1] - times[0]) / MOST_POINTS
    thin: dict[str, Points] = {}
    for name, points in series.items():
        found: dict[int, tuple[float, float | None]] = {}
        for at, value in points:
            place = int((at - times[0]) / width)
            before = found.get(place)
            if before is None or (value is not None and (before[1] is None or value > before[1])):
                found[place] = (at, value)
        thin[name] = list(found.values())
    return thin


def _columns(series: Sequence[Points]) -> dict[float, list[float]]:
    found: dict[float, list[float]] = {}
    for place, points in enumerate(series):
        for at, value in points:
            found.setdefault(at, [0.0] * len(series))[place] += value or 0.0
    return found


def _axes(scale: _Scale, unit: Unit) -> list[Markup]:
    line = Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>')
    label = Markup('<text class="mark" x="{}" y="{}" text-anchor="{}">{}</text>')
    found = []
    for value in scale.marks:
        y = scale.y(value)
        found += [line.format(LEFT, WIDTH - RIGHT, y, y), label.format(LEFT - 6, y + 4, "end", unit.text(value))]
    for at, text in time_marks(scale.first, scale.last):
        x = scale.x(at)
        fits = x + HALF_A_TEXT <= WIDTH
        found.append(label.format(x if fits else WIDTH - 2, HEIGHT - 6, "middle" if fits else "end", text))
    return found


def _lines(scale: _Scale, series: Sequence[Points]) -> list[Markup]:
    found = []
    for place, points in enumerate(series):
        for piece in _pieces(points):
            dots = " ".join(f"{scale.x(at)},{scale.y(value)}" for at, value in piece)
            if len(piece) == 1:
                at, value = piece[0]
                shape = Markup('<circle class="dot s{}" cx="{}" cy="{}" r="3"/>')
                found.append(shape.format(place % 6, scale.x(at), scale.y(value)))
            else:
                found.append(Markup('<polyline class="line s{}" points="{}"/>').format(place % 6, dots))
    return found


def _pieces(points: Points) -> list[list[tuple[float, float]]]:
    """Return the points in pieces, which end where a value is not known."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for at, value in points:
        if value is None:
            pieces.append([])
        else:
            pieces[-1].append((at, value))
    return [piece for piece in pieces if piece]


def _bars(scale: _Scale, series: Sequence[Points]) -> list[Markup]:
    columns = _columns(series)
    width = round(max(min((WIDTH - LEFT - RIGHT) / max(len(columns), 1) * 0.7, 18), 1.5), 1)
    shape = Markup('<rect class="bar s{}" x="{}" y="{}" width="{}" height="{}"/>')
    found = []
    for at, values in columns.items():
        left = min(max(scale.x(at) - width / 2, LEFT), WIDTH - RIGHT - width)
        bottom = 0.0
        for place, value in enumerate(values):
            if value:
                y = scale.y(bottom + value)
                found.append(shape.format(place % 6, round(left, 1), y, width, round(scale.y(bottom) - y, 1)))
                bottom += value
    return found


def _tips(scale: _Scale, series: Mapping[str, Points], unit: Unit) -> list[Markup]:
    """Return an area per moment, which shows the values when the mouse is over it."""
    texts: dict[float, list[str]] = {}
    for name, points in series.items():
        for at, value in points:
            texts.setdefault(at, []).append(f"{name}: {unit.text(value)}" if name else unit.text(value))
    times = sorted(texts)
    area = Markup('<rect class="tip" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>')
    found = []
    for place, at in enumerate(times):
        left = (scale.x(times[place - 1]) + scale.x(at)) / 2 if place else LEFT
        right = (scale.x(times[place + 1]) + scale.x(at)) / 2 if place + 1 < len(times) else WIDTH - RIGHT
        said = "\n".join([_clock(at), *texts[at]])
        found.append(area.format(round(left, 1), TOP, round(max(right - left, 1), 1), HEIGHT - TOP - BOTTOM, said))
    return found


def _rows(series: Mapping[str, Points], unit: Unit, most: int = 20) -> tuple[tuple[str, tuple[str, ...]], ...]:
    values = [dict(points) for points in series.values()]
    times = sorted({at for one in values for at in one}, reverse=True)[:most]
    return tuple((_clock(at), tuple(unit.text(one[at]) if at in one else "" for one in values)) for at in times)


def _summary(title: str, series: Mapping[str, Points], unit: Unit) -> str:
    """Return what a chart shows as text: the newest and the highest value of each series."""
    said = []
    for name, points in series.items():
        known = [(at, value) for at, value in points if value is not None]
        if known:
            at, top = max(known, key=lambda one: one[1])
            said.append(f"{name or 'newest'} {unit.text(known[-1][1])}, at most {unit.text(top)} at {_clock(at)}")
    return f"{title}: {'; '.join(said)}"


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%d %b %H:%M:%S UTC")
