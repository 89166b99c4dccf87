"""Draw where data goes as SVG: boxes in columns from left to right, with arrows that say how far they are."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from airflow_ddlrepl.plugin.drawing.layout import (
    BOX,
    CURVE,
    GAP,
    LABEL,
    LINE,
    PADDING,
    Graph,
    PlacedArrow,
    PlacedBox,
    layout,
)

LETTERS, ARROW_LETTERS = 22, 19
"""So many characters a line of a box, and of an arrow, has at most; its tooltip has all of them."""


def picture(graph: Graph) -> Markup:
    """Return the graph as SVG; its text for a screen reader has every box and every arrow."""
    found = layout(graph)
    parts = [*map(_arrow, found.arrows), *map(_box, found.boxes)]
    return Markup(
        '<svg class="picture" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}"><defs>'
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="10" markerHeight="10"'
        ' markerUnits="userSpaceOnUse" orient="auto">'
        '<path class="head" d="M0 0 8 4 0 8z"/></marker></defs>{3}</svg>'
    ).format(found.width, found.height, _said(graph), _join(parts))


def ways(graph: Graph) -> list[tuple[str, str]]:
    """Return the graph as a list for narrow screens: of each arrow from where to where, and what stands on it."""
    titles = {box.id: box.title for box in graph.boxes}
    return [
        (f"{titles[one.start]} → {titles[one.end]}", ", ".join(one.lines))
        for one in graph.arrows
        if one.start in titles and one.end in titles
    ]


def _box(placed: PlacedBox) -> Markup:
    box, middle = placed.box, placed.left + BOX / 2
    lines = (box.title, *box.lines)
    top = placed.middle - LINE * len(lines) / 2
    texts = [
        Markup('<text class="{}" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            "name" if number == 0 else "note", middle, round(top + LINE * (number + 0.75), 1), _cut(line)
        )
        for number, line in enumerate(lines)
    ]
    return Markup(
        '<g class="box {}"><title>{}</title><rect x="{}" y="{}" width="{}" height="{}" rx="6"/>{}</g>'
    ).format(box.level, "\n".join(lines), placed.left, placed.top, BOX, placed.height, _join(texts))


def _arrow(placed: PlacedArrow) -> Markup:
    lines, at = placed.arrow.lines, placed.heights[-1]
    above = (len(lines) + 1) // 2
    texts = [
        Markup('<text class="note" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            placed.right - LABEL / 2 - 4, round(at + _below(number - above), 1), _cut(line, ARROW_LETTERS)
        )
        for number, line in enumerate(lines)
    ]
    return Markup('<g class="arrow {}"><title>{}</title><path d="{}" marker-end="url(#head)"/>{}</g>').format(
        placed.arrow.level, "\n".join(lines), _path(placed), _join(texts)
    )


def _below(number: int) -> float:
    """Return how far below its arrow a line of text stands. number: 0 is the first below it, -1 the last above it."""
    return LINE * (number + 1) - 3 if number >= 0 else LINE * (number + 1) - PADDING / 2


def _path(placed: PlacedArrow) -> str:
    """Return the way of an arrow: curves behind boxes, straight lines to its end and through its lanes."""
    left, found = placed.left, f"M{placed.left} {placed.heights[0]}"
    for before, at in zip(placed.heights, placed.heights[1:], strict=False):
        found += f" C{left + CURVE * 0.6} {before} {left + CURVE * 0.4} {at} {left + CURVE} {at}"
        left += GAP + BOX
        found += f" H{left}" if left < placed.right else f" H{placed.right - 3}"
    return found


def _join(parts: Sequence[Markup]) -> Markup:
    return Markup("").join(parts)


def _cut(text: str, most: int = LETTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _said(graph: Graph) -> str:
    """Return the whole graph as a text."""
    titles = {box.id: box.title for box in graph.boxes}
    boxes = [f"{box.title} ({', '.join(box.lines)})" if box.lines else box.title for box in graph.boxes]
    arrows = [
        f"{titles.get(one.start, '')} to {titles.get(one.end, '')}{': ' if one.lines else ''}{', '.join(one.lines)}"
        for one in graph.arrows
    ]
    return f"Where data goes. {'; '.join(boxes)}. {'; '.join(arrows)}"
