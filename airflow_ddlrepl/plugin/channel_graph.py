"""Where the data of a channel goes, as boxes and arrows: from the source by captures and queues to the targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.plugin.drawing.layout import Arrow, Box, Graph
from airflow_ddlrepl.plugin.drawing.words import count, duration, size
from airflow_ddlrepl.plugin.streams_graph import streams_graph

SOURCE, TRAIL = "source", "trail"
Part = Mapping[str, Any]


def channel_graph(health: Part) -> Graph:
    """Return the picture of a channel, with positions in the boxes and lag on the arrows."""
    if health.get("clients"):
        return streams_graph(health, _source(health["source"]))
    source = health["source"]
    arrows = [Arrow(SOURCE, TRAIL, _lag(None, source["lag_bytes"]), "bad" if source["unreachable"] else "")]
    boxes = [_source(source), _trail(health)]
    for one in health["targets"]:
        level, name = one["verdict"]["level"], one["target"]
        boxes.append(Box(f"target {name}", name, _target(one), level))
        arrows.append(Arrow(TRAIL, f"target {name}", _lag(one.get("lag_seconds"), one.get("lag_bytes")), level))
    return Graph(tuple(boxes), tuple(arrows))


def _source(source: Part) -> Box:
    if source["unreachable"]:
        return Box(SOURCE, "source", ("does not answer",), "bad")
    return Box(SOURCE, "source", (f"log ends at {source['position']}",) if source["position"] else (), "good")


def _trail(health: Part) -> Box:
    trail, captured = health["trail"], health["source"]["captured"]
    lines = [f"captured {captured}"] if captured else []
    lines += [f"{size(trail['bytes'])} still needed"] if trail.get("bytes") is not None else []
    return Box(TRAIL, "trail", tuple(lines), "bad" if trail.get("damaged") else "")


def _target(one: Part) -> tuple[str, ...]:
    if one.get("unreachable"):
        return ("does not answer",)
    if one.get("missing"):
        return ("not prepared",)
    number = one["tables"]
    return (f"at {one.get('position') or '?'}", f"{count(number)} table{'' if number == 1 else 's'}")


def _lag(seconds: float | None, length: int | None) -> tuple[str, ...]:
    found = ([] if seconds is None else [f"{duration(seconds)} behind"]) + ([] if length is None else [size(length)])
    return tuple(found) or ("not known",)
