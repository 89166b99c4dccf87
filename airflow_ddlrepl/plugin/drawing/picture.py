"""Draw where data goes as SVG: boxes in columns from left to right, with arrows that say how far they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

BOX, GAP, LINE, PADDING = 168, 116, 17, 10
"""Width of a box, width between columns, height of a line of text, and space around the text in a box."""

LETTERS, ARROW_LETTERS = 22, 17
"""So many characters a line of a box, and of an arrow, has at most; its tooltip has all of them."""


@dataclass(frozen=True)
class Box:
    """A box is a place that data is at. level: that of a verdict; it is the colour of the box's edge."""

    id: str
    title: str
    lines: tuple[str, ...] = ()
    level: str = ""


@dataclass(frozen=True)
class Arrow:
    """An arrow is a way that data goes, from one box to another."""

    start: str
    end: str
    lines: tuple[str, ...] = ()
    level: str = ""


@dataclass(frozen=True)
class Graph:
    """A graph has boxes and the arrows between them; an arrow that goes back to an earlier box is not drawn."""

    boxes: tuple[Box, ...] = ()
    arrows: tuple[Arrow, ...] = ()


@dataclass(frozen=True)
class _Placed:
    box: Box
    left: float
    top: float
    height: float = field(default=0.0)

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


def picture(graph: Graph) -> Markup:
    """Return the graph as SVG; its text for a screen reader has every box and every arrow."""
    columns = _columns(graph)
    heights = {box.id: PADDING * 2 + LINE * (1 + len(box.lines)) for box in graph.boxes}
    full = max((sum(heights[box.id] + 24 for box in column) for column in columns), default=0) + 8
    placed: dict[str, _Placed] = {}
    for number, column in enumerate(columns):
        free = full - sum(heights[box.id] for box in column)
        top = space = free / (len(column) + 1)
        for box in column:
            placed[box.id] = _Placed(box, number * (BOX + GAP) + 2, round(top, 1), heights[box.id])
            top += heights[box.id] + space
    width = max(len(columns) * (BOX + GAP) - GAP, 0) + 4
    parts = [*(_arrow(one, placed) for one in graph.arrows), *map(_box, placed.values())]
    return Markup(
        '<svg class="picture" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}"><defs>'
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="head" d="M0 0 8 4 0 8z"/></marker></defs>{3}</svg>'
    ).format(width, round(full), _said(graph), Markup("").join(parts))


def _columns(graph: Graph) -> list[list[Box]]:
    """Return the boxes by column: each stands behind all boxes that have an arrow to it."""
    depth = {box.id: 0 for box in graph.boxes}
    for _ in graph.boxes:
        for arrow in graph.arrows:
            if arrow.start in depth and depth.get(arrow.end, len(depth)) <= depth[arrow.start] < len(depth) - 1:
                depth[arrow.end] = depth[arrow.start] + 1
    numbers = sorted(set(depth.values()))
    return [[box for box in graph.boxes if depth[box.id] == number] for number in numbers]


def _box(placed: _Placed) -> Markup:
    box, middle = placed.box, placed.left + BOX / 2
    texts = [
        Markup('<text class="{}" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            "name" if number == 0 else "note", middle, placed.top + PADDING + LINE * (number + 0.75), _cut(line)
        )
        for number, line in enumerate((box.title, *box.lines))
    ]
    return Markup(
        '<g class="box {}"><title>{}</title><rect x="{}" y="{}" width="{}" height="{}" rx="6"/>{}</g>'
    ).format(box.level, "\n".join((box.title, *box.lines)), placed.left, placed.top, BOX, placed.height, _join(texts))


def _arrow(arrow: Arrow, placed: Mapping[str, _Placed]) -> Markup:
    if arrow.start not in placed or arrow.end not in placed:
        return Markup("")
    start, end = placed[arrow.start], placed[arrow.end]
    if end.left <= start.left:
        return Markup("")
    left, right = start.left + BOX, end.left - 3
    near = end.left - GAP
    path = (
        f"M{left} {start.middle} H{near + 4} C{near + 40} {start.middle} {near + 30} {end.middle} {right} {end.middle}"
    )
    texts = [
        Markup('<text class="note" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            end.left - GAP / 2,
            end.middle - 7 - LINE * (len(arrow.lines) - 1) + LINE * number,
            _cut(line, ARROW_LETTERS),
        )
        for number, line in enumerate(arrow.lines)
    ]
    return Markup('<g class="arrow {}"><title>{}</title><path d="{}" marker-end="url(#head)"/>{}</g>').format(
        arrow.level, "\n".join(arrow.lines), path, _join(texts)
    )


def _join(parts: Sequence[Markup]) -> Markup:
    return Markup("").join(parts)


def _cut(text: str, most: int = LETTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _said(graph: Graph) -> str:
    """Return the whole graph as a text."""
    titles = {box.id: box.title for box in graph.boxes}
    boxes = [f"{box.title} ({', '.join(box.lines)})" if box.lines else box.title for box in graph.boxes]
    ways = [
        f"{titles.get(one.start, '')} to {titles.get(one.end, '')}{': ' if one.lines else ''}{', '.join(one.lines)}"
        for one in graph.arrows
    ]
    return f"Where data goes. {'; '.join(boxes)}. {'; '.join(ways)}"
