"""Charts and the picture of where data goes: the numbers that were given stand in them, and nothing becomes markup."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from airflow_ddlrepl.plugin import channel_page
from airflow_ddlrepl.plugin.drawing.charts import (
    BYTES,
    NUMBER,
    SECONDS,
    bar_chart,
    duration_marks,
    line_chart,
    marks,
    time_marks,
)
from airflow_ddlrepl.plugin.drawing.layout import LINE, Arrow, Box, Graph, layout
from airflow_ddlrepl.plugin.drawing.picture import picture, ways
from airflow_ddlrepl.plugin.drawing.words import ago, duration, moment, size

NASTY = "<script>pwned=1</script>\"'&"
NOON = 1_790_000_000.0


def elements(svg: str, tag: str) -> list[ElementTree.Element]:
    return [one for one in ElementTree.fromstring(svg).iter() if one.tag.rpartition("}")[2] == tag]


def test_a_line_has_a_point_for_each_known_value_and_a_gap_where_none_is_known() -> None:
    points = [(NOON, 1.0), (NOON + 60, 3.0), (NOON + 120, None), (NOON + 180, 2.0), (NOON + 240, 4.0)]
    chart = line_chart("Lag", {"warehouse": points}, SECONDS)
    assert chart is not None
    lines = [one.get("points", "").split() for one in elements(chart.svg, "polyline")]
    assert [len(line) for line in lines] == [2, 2]
    heights = [float(point.partition(",")[2]) for line in lines for point in line]
    assert heights[3] < heights[1] < heights[2] < heights[0]  # 4 s is drawn higher than 3, 2 and 1 s
    assert "warehouse 4 s, at most 4 s" in str(chart.svg)
    assert [values for _, values in chart.rows] == [("4 s",), ("2 s",), ("not known",), ("3 s",), ("1 s",)]


def test_bars_stand_on_each_other() -> None:
    chart = bar_chart("Time", {"capture": [(NOON, 1.0)], "integrate": [(NOON, 3.0)]}, SECONDS)
    assert chart is not None
    low, high = (one for one in elements(chart.svg, "rect") if "bar" in one.get("class", ""))
    assert float(high.get("height", 0)) == pytest.approx(3 * float(low.get("height", 0)), abs=0.5)
    assert float(high.get("y", 0)) + float(high.get("height", 0)) == pytest.approx(float(low.get("y", 0)), abs=0.2)


def test_a_chart_of_many_moments_keeps_the_highest_value() -> None:
    points = [(NOON + 10 * number, 500.0 if number == 7777 else 1.0) for number in range(10_000)]
    chart = line_chart("Lag", {"w": points}, SECONDS)
    assert chart is not None
    assert len(elements(chart.svg, "polyline")[0].get("points", "").split()) <= 161
    tips = [one.text or "" for one in elements(chart.svg, "title")]
    assert len(tips) <= 161 and len([tip for tip in tips if tip.endswith("w: 8.3 min")]) == 1


def test_nothing_to_draw_is_no_chart() -> None:
    assert line_chart("Lag", {"w": [(NOON, None)]}, BYTES) is None
    assert bar_chart("Rows", {}, NUMBER) is None


def test_names_stay_text() -> None:
    chart = line_chart(NASTY, {NASTY: [(NOON, 1.0), (NOON + 1, 2.0)]}, BYTES)
    drawn = picture(Graph((Box("a", NASTY, (NASTY,), "good"), Box("b", "b")), (Arrow("a", "b", (NASTY,)),)))
    assert chart is not None
    for svg in (chart.svg, drawn):
        assert "<script" not in svg and elements(svg, "script") == []
        assert any(NASTY in (one.text or "") for one in elements(svg, "title"))


def test_the_picture_puts_each_box_behind_those_that_lead_to_it() -> None:
    boxes = tuple(Box(name, name) for name in ("source", "queue", "far queue", "target"))
    ways = (("source", "queue"), ("queue", "far queue"), ("far queue", "target"), ("queue", "target"))
    drawn = picture(Graph(boxes, tuple(Arrow(*way, ("0/A",)) for way in ways)))
    left = {
        group.findtext("title"): float(elements(ElementTree.tostring(group, "unicode"), "rect")[0].get("x", 0))
        for group in elements(drawn, "g")
        if "box" in group.get("class", "")
    }
    assert left["source"] < left["queue"] < left["far queue"] < left["target"]
    assert len([one for one in elements(drawn, "g") if "arrow" in one.get("class", "")]) == 4
    assert "queue to far queue: 0/A" in str(drawn)


def test_an_arrow_that_passes_a_column_has_a_lane_between_its_boxes() -> None:
    boxes = tuple(Box(name, name, ("a", "b", "c")) for name in ("source", "first", "second", "far"))
    ways = (("source", "first"), ("source", "second"), ("first", "far"), ("source", "far"))
    found = layout(Graph(boxes, tuple(Arrow(*way, ("0/A",)) for way in ways)))
    passing = found.arrows[-1]
    (_, lane, end) = passing.heights
    passed = [one for one in found.boxes if passing.left < one.left < passing.right]
    assert [one.box.id for one in passed] == ["first", "second"]
    assert all(not one.top <= lane <= one.top + one.height for one in passed)
    far = next(one for one in found.boxes if one.box.id == "far")
    assert far.top < end < far.top + far.height and far.middle != end


def test_texts_of_arrows_to_one_box_stand_one_below_the_other_and_each_meets_it() -> None:
    words = ("name", "at 0/A", "3 wait", "2 s behind")
    boxes = (*(Box(name, name) for name in "abc"), Box("queue", "queue"))
    found = layout(Graph(boxes, tuple(Arrow(name, "queue", words) for name in "abc")))
    ends = [one.heights[-1] for one in found.arrows]
    assert all(later - earlier >= 4 * LINE for earlier, later in pairwise(ends))
    (queue,) = (one for one in found.boxes if one.box.id == "queue")
    assert queue.top < ends[0] and ends[-1] < queue.top + queue.height
    assert ends[0] > 2 * LINE and ends[-1] + 2 * LINE < found.height


def test_the_picture_is_a_list_too() -> None:
    graph = Graph((Box("1", "a"), Box("2", "b")), (Arrow("1", "2", ("x", "at 0/A")), Arrow("1", "gone")))
    assert ways(graph) == [("a → b", "x, at 0/A")]


def test_boxes_that_lead_to_each_other_are_drawn_all_the_same() -> None:
    graph = Graph((Box("a", "a"), Box("b", "b")), (Arrow("a", "b"), Arrow("b", "a"), Arrow("a", "gone")))
    assert len([one for one in elements(picture(graph), "g") if "box" in one.get("class", "")]) == 2


@pytest.mark.parametrize(
    ("highest", "wanted"), [(0, [0, 1]), (3, [0, 1, 2, 3]), (29, [0, 10, 20, 30]), (1000, [0, 500, 1000])]
)
def test_marks_are_round(highest: float, wanted: list[float]) -> None:
    assert marks(highest, 3) == wanted


def test_marks_of_time_are_minutes_hours_and_days() -> None:
    assert duration_marks(100) == [0, 30, 60, 90, 120]
    assert duration_marks(86400 * 9)[1] % 86400 == 0
    texts = [text for _, text in time_marks(1_790_000_000, 1_790_000_000 + 3 * 3600)]
    assert re.fullmatch(r"\d\d [A-Z][a-z]{2} \d\d:\d0", texts[0])
    assert len(texts) > 1 and all(re.fullmatch(r"\d\d:\d0", text) for text in texts[1:])
    midnight = 1_790_000_000 // 86400 * 86400
    two_days = [text for _, text in time_marks(midnight - 40_000, midnight + 2 * 86400 - 40_000)]
    assert [bool(re.match(r"\d\d [A-Z]", text)) for text in two_days] == [True, False, True, False]
    assert re.fullmatch(r"\d\d [A-Z][a-z]{2}", time_marks(NOON, NOON + 20 * 86400)[0][1])


def test_numbers_are_written_as_people_read_them() -> None:
    seconds = (0, 0.25, 12, 90, 150, 7300, 200_000, None)
    assert [duration(one) for one in seconds] == [
        "0 s", "0.2 s", "12 s", "90 s", "2.5 min", "2.0 h", "2.3 d", "not known",
    ]  # fmt: skip
    sizes = (0, 999, 1000, 4_200_000, None)
    assert [size(one) for one in sizes] == ["0 bytes", "999 bytes", "1.0 kB", "4.2 MB", "not known"]
    noon = moment("2026-11-27T12:00:00+00:00")
    assert noon is not None
    assert ago("2026-11-27T11:58:00Z", noon) == "2.0 min ago" and ago(None, noon) == "never"
    assert moment("no moment") is None


def test_the_mark_at_the_right_edge_is_not_cut() -> None:
    made = line_chart("lag", {"": [(NOON - 19, 1.0), (NOON, 2.0)]}, SECONDS)
    assert made is not None
    marks = [one for one in elements(str(made.svg), "text") if re.search("[A-Z]", one.text or "")]
    assert [(one.get("x"), one.get("text-anchor")) for one in marks] == [("458", "end")]


@pytest.mark.parametrize("name", ["icon.svg", "icon-dark.svg"])
def test_the_icon_can_be_told_from_whatever_the_menu_puts_behind_it(name: str) -> None:
    """Airflow shows it as an image, also on the colour of the active entry: it brings its own ground."""
    root = ElementTree.parse(Path(channel_page.__file__).parent / "static" / name).getroot()
    ground = next(one for one in root if one.tag.endswith("rect"))
    assert root[0] is ground and (ground.get("width"), ground.get("height")) == ("24", "24")
    lighter, darker = sorted((_light(root.get("stroke")), _light(ground.get("fill"))), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) > 4.5


def _light(colour: str | None) -> float:
    """The relative luminance of a colour."""
    assert colour is not None
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(factor * one for factor, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
