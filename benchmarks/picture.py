"""Charts with logarithmic axes as SVG, without any library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 330, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 52, 46
COLORS = ("#1565c0", "#3949ab", "#00838f", "#52606d")
STYLE = """
    text { font: 12px system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: #1f2933; }
    .title { font-size: 13px; font-weight: 600; text-anchor: middle; }
    .note { font-size: 11px; fill: #52606d; text-anchor: middle; }
    .grid { stroke: #e4e7eb; }
    .left { text-anchor: end; }
    .line { fill: none; stroke-width: 1.8; }
    .dashed { stroke-dasharray: 5 4; }
"""


@dataclass(frozen=True)
class Line:
    """A line of a chart. points: x and y, both above 0. is_dashed: it is computed, not measured."""

    name: str
    points: Sequence[tuple[float, float]]
    is_dashed: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart: what stands above it, what its x axis counts, and its lines."""

    title: str
    axis: str
    lines: Sequence[Line] = field(default_factory=tuple)

    def svg(self) -> str:
        """Return the chart as SVG at the origin."""
        points = [point for line in self.lines for point in line.points]
        across, up = _Axis.around([x for x, _ in points]), _Axis.around([y for _, y in points])
        parts = [f'<text class="title" x="{WIDTH / 2}" y="20">{escape(self.title)}</text>']
        for power in range(across.low, across.high + 1):
            x = _x(across.place(10**power))
            parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>')
            parts.append(f'<text class="note" x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}">{_number(power)}</text>')
        for power in range(up.low, up.high + 1):
            y = _y(up.place(10**power))
            parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
            parts.append(f'<text class="note left" x="{LEFT - 6}" y="{y + 4:.1f}">{_number(power)} s</text>')
        parts.append(f'<text class="note" x="{WIDTH / 2}" y="{HEIGHT - 10}">{escape(self.axis)}</text>')
        for number, line in enumerate(self.lines):
            parts += _line(line, number, across, up)
        return "\n  ".join(parts)


def drawn(title: str, about: str, charts: Sequence[Chart]) -> str:
    """Return the charts side by side as an SVG file. about: what somebody reads who doesn't see it."""
    width = WIDTH * len(charts)
    groups = [f'<g transform="translate({n * WIDTH} 0)">\n  {one.svg()}\n</g>' for n, one in enumerate(charts)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}"'
            ' role="img" aria-labelledby="title about">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="about">{escape(about)}</desc>',
            f"<style>{STYLE}</style>",
            f'<rect width="{width}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
            *groups,
            "</svg>\n",
        ]
    )


@dataclass(frozen=True)
class _Axis:
    """A logarithmic axis between two powers of ten."""

    low: int
    high: int

    @classmethod
    def around(cls, values: Sequence[float]) -> _Axis:
        low = math.floor(math.log10(min(values)))
        return cls(low, max(low + 1, math.ceil(math.log10(max(values)))))

    def place(self, value: float) -> float:
        """Return where a value is: 0 at the lower end, 1 at the upper one."""
        return (math.log10(value) - self.low) / (self.high - self.low)


def _line(line: Line, number: int, across: _Axis, up: _Axis) -> list[str]:
    color, dashed = COLORS[number % len(COLORS)], " dashed" if line.is_dashed else ""
    places = [(_x(across.place(x)), _y(up.place(y))) for x, y in line.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    fill = "#ffffff" if line.is_dashed else color
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{fill}" stroke="{color}"/>' for x, y in places]
    name = f'<text x="{LEFT + 4}" y="{TOP - 16 + 13 * number:.0f}" fill="{color}" style="fill: {color}">'
    return [
        f'<polyline class="line{dashed}" stroke="{color}" points="{path}"/>',
        *dots,
        f"{name}{escape(line.name)}</text>",
    ]


def _x(part: float) -> float:
    return LEFT + part * (WIDTH - LEFT - RIGHT)


def _y(part: float) -> float:
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


def _number(power: int) -> str:
    return f"{10**power:,}" if 0 <= power < 4 else f"10<tspan dy='-4' font-size='8'>{power}</tspan>" if power else "1"
