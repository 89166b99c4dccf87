"""Find places for the boxes and arrows of a picture: columns from left to right, with room for what stands on an arrow.

An arrow curves behind its box, then runs straight to its end: its text stands above and below the straight part. One
that passes a column has a lane of its own there, between the boxes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

BOX, CURVE, LABEL = 160, 44, 118
"""Width of a box, and behind it of the curve and of the text of an arrow."""

GAP, LINE, PADDING, SPACE = CURVE + LABEL, 17, 10, 18
"""Width between columns, height of a line of text, space around the text in a box, and between what is in a column."""

LANE = 14


@dataclass(frozen=True)
class Box:
    """A box is a place that data is at. level: that of a verdict; it is the colour of the box's edge."""

    id: str
    title: str
    lines: tuple[str, ...] = ()
    level: str = ""


@dataclass(frozen=True)
class Arrow:
    """An arrow is a way that data goes, from one box to another. level: that of a verdict; it is the arrow's colour."""

    start: str
    end: str
    lines: tuple[str, ...] = ()
    level: str = ""

    @property
    def height(self) -> float:
        """Return how much room the arrow needs where it ends."""
        return LINE * max(len(self.lines), 1) + PADDING


@dataclass(frozen=True)
class Graph:
    """A graph has boxes and the arrows between them; an arrow that goes back to an earlier box is not drawn."""

    boxes: tuple[Box, ...] = ()
    arrows: tuple[Arrow, ...] = ()


@dataclass(frozen=True)
class PlacedBox:
    """A placed box has its left upper corner and its height."""

    box: Box
    left: float
    top: float
    height: float

    @property
    def middle(self) -> float:
        """Return the height at which arrows leave it."""
        return self.top + self.height / 2


@dataclass(frozen=True)
class PlacedArrow:
    """A placed arrow runs through heights: of its start, of its lane in each column that it passes, and of its end."""

    arrow: Arrow
    left: float
    right: float
    heights: tuple[float, ...]


@dataclass(frozen=True)
class Layout:
    """A layout is where all of a graph is, and how large that is."""

    boxes: tuple[PlacedBox, ...]
    arrows: tuple[PlacedArrow, ...]
    width: float
    height: float


@dataclass(frozen=True)
class _Slot:
    """A slot is the part of a column that a box with its arrows takes, or the lane of an arrow."""

    box: Box | None
    arrows: tuple[Arrow, ...]
    height: float


def layout(graph: Graph) -> Layout:
    """Return the places of all boxes, and of all arrows that lead to a later column."""
    depth = _depths(graph)
    known = {box.id: box for box in graph.boxes}
    drawn = [one for one in graph.arrows if {one.start, one.end} <= set(known) and depth[one.start] < depth[one.end]]
    columns = _columns(graph.boxes, drawn, depth)
    full = max((sum(slot.height + SPACE for slot in column) for column in columns), default=0.0) + SPACE
    boxes: dict[str, PlacedBox] = {}
    ends: dict[Arrow, float] = {}
    lanes: dict[Arrow, list[float]] = {}
    for number, column in enumerate(columns):
        space = (full - sum(slot.height for slot in column)) / (len(column) + 1)
        top = space
        for slot in column:
            if slot.box is None:
                lanes.setdefault(slot.arrows[0], []).append(round(top + LANE / 2, 1))
            else:
                here = _ends(slot, top)
                boxes[slot.box.id] = _placed(slot, number * (BOX + GAP) + 2, top, here.values())
                ends |= here
            top += slot.height + space
    arrows = tuple(
        PlacedArrow(
            one,
            boxes[one.start].left + BOX,
            boxes[one.end].left,
            (boxes[one.start].middle, *lanes.get(one, ()), ends[one]),
        )
        for one in dict.fromkeys(drawn)
    )
    width = max(len(columns) * (BOX + GAP) - GAP, 0) + 4
    return Layout(tuple(boxes.values()), arrows, width, round(full))


def _depths(graph: Graph) -> dict[str, int]:
    """Return the column of each box: it stands behind all boxes that have an arrow to it."""
    depth = {box.id: 0 for box in graph.boxes}
    for _ in graph.boxes:
        for arrow in graph.arrows:
            if arrow.start in depth and depth.get(arrow.end, len(depth)) <= depth[arrow.start] < len(depth) - 1:
                depth[arrow.end] = depth[arrow.start] + 1
    numbers = sorted(set(depth.values()))
    return {name: numbers.index(one) for name, one in depth.items()}


def _columns(boxes: Sequence[Box], arrows: Sequence[Arrow], depth: dict[str, int]) -> list[list[_Slot]]:
    """Return what is in each column, from top to bottom, in the order of what leads there: so few arrows cross."""
    columns: list[list[_Slot]] = []
    order: dict[object, float] = {}
    for number in range(max(depth.values(), default=-1) + 1):
        slots = [_slot(box, [one for one in arrows if one.end == box.id]) for box in boxes if depth[box.id] == number]
        slots += [_Slot(None, (one,), LANE) for one in arrows if depth[one.start] < number < depth[one.end]]
        slots.sort(key=lambda slot: _mean([order.get(one, order.get(one.start, 0.0)) for one in slot.arrows]))
        for place, slot in enumerate(slots):
            order[slot.box.id if slot.box is not None else slot.arrows[0]] = place / max(len(slots), 1)
        columns.append(slots)
    return columns


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def _slot(box: Box, arrows: Sequence[Arrow]) -> _Slot:
    return _Slot(box, tuple(arrows), max(_own_height(box), sum(one.height for one in arrows)))


def _own_height(box: Box) -> float:
    return PADDING * 2 + LINE * (1 + len(box.lines))


def _placed(slot: _Slot, left: float, top: float, ends: Collection[float]) -> PlacedBox:
    """Return where the box of a slot is: in its middle, and so high that each arrow meets it. ends: of its arrows."""
    assert slot.box is not None
    own, middle = _own_height(slot.box), top + slot.height / 2
    first = min([middle - own / 2, *(one - PADDING for one in ends)])
    last = max([middle + own / 2, *(one + PADDING for one in ends)])
    return PlacedBox(slot.box, left, round(first, 1), round(last - first, 1))


def _ends(slot: _Slot, top: float) -> dict[Arrow, float]:
    """Return at which heights the arrows of a slot end, one below the other."""
    at = top + (slot.height - sum(one.height for one in slot.arrows)) / 2
    found = {}
    for one in slot.arrows:
        found[one] = round(at + one.height / 2, 1)
        at += one.height
    return found
