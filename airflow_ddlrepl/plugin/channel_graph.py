"""Where the data of a channel goes, as boxes and arrows: from the source by captures and queues to the targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from airflow_ddlrepl.plugin.drawing.layout import Arrow, Box, Graph
from airflow_ddlrepl.plugin.drawing.words import count, duration, size, time_of_day
from airflow_ddlrepl.plugin.streams_graph import streams_graph

SOURCE, TRAIL = "source", "trail"
Part = Mapping[str, Any]
When = Callable[[Part], tuple[str, ...]]


def channel_graph(health: Part) -> Graph:
    """Return the picture of a channel, with positions in the boxes and lag on the arrows."""
    if health.get("clients"):
        return streams_graph(health, _source(health["source"]))
    source, when = health["source"], _moments(health)
    arrows = [Arrow(SOURCE, TRAIL, _lag(None, source["lag_bytes"]), "bad" if source["unreachable"] else "")]
    boxes = [_source(source, when(source)), _trail(health, when)]
    for one in health["targets"]:
        level, name = one["verdict"]["level"], one["target"]
        boxes.append(Box(f"target {name}", name, (*_target(one), *when(one)), level))
        arrows.append(Arrow(TRAIL, f"target {name}", _lag(one.get("lag_seconds"), _between(source, one)), level))
    return Graph(tuple(boxes), tuple(arrows))


def _moments(health: Part) -> When:
    """Return what says of which moment a part of the picture is: nothing where all are of one moment."""
    parts = (health["source"], health["trail"], *health["targets"])
    is_one = len({one["as_of"] for one in parts if one.get("as_of")}) <= 1
    return lambda part: () if is_one or not part.get("as_of") else (f"as of {time_of_day(part['as_of'])}",)


def _between(source: Part, target: Part) -> int | None:
    """Return how many bytes of log are captured that a target lacks; None: not known, or not of one moment."""
    if target.get("position") and target["position"] == source["captured"]:
        return 0
    known = (target.get("lag_bytes"), source["lag_bytes"])
    if target.get("as_of") != source.get("as_of") or None in known:
        return None
    return max(0, int(known[0] or 0) - int(known[1] or 0))


def _source(source: Part, when: tuple[str, ...] = ()) -> Box:
    if source["unreachable"]:
        return Box(SOURCE, "source", ("does not answer", *when), "bad")
    later = " or later" if source.get("position_is_at_least") else ""
    lines = (f"log ends at {source['position']}{later}", *when) if source["position"] else ()
    return Box(SOURCE, "source", lines, "good")


def _trail(health: Part, when: When) -> Box:
    trail, source = health["trail"], health["source"]
    lines = [f"captured {source['captured']}", *when(source)] if source["captured"] else []
    if trail.get("bytes") is not None:
        is_same = trail.get("as_of") == source.get("as_of")
        lines += [f"{size(trail['bytes'])} still needed", *(() if is_same else when(trail))]
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
