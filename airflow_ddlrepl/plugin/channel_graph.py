"""Where the data of a channel goes, as boxes and arrows: from the source by captures and queues to the targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.plugin.drawing.picture import Arrow, Box, Graph
from airflow_ddlrepl.plugin.drawing.words import count, duration, size

SOURCE, TRAIL = "source", "trail"
Part = Mapping[str, Any]


def channel_graph(health: Part) -> Graph:
    """Return the picture of a channel, with positions in the boxes and lag on the arrows."""
    if health.get("clients"):
        return streams_graph(health)
    source = health["source"]
    arrows = [Arrow(SOURCE, TRAIL, _lag(None, source["lag_bytes"]), "bad" if source["unreachable"] else "")]
    boxes = [_source(source), _trail(health)]
    for one in health["targets"]:
        level, name = one["verdict"]["level"], one["target"]
        boxes.append(Box(f"target {name}", name, _target(one), level))
        arrows.append(Arrow(TRAIL, f"target {name}", _lag(one.get("lag_seconds"), one.get("lag_bytes")), level))
    return Graph(tuple(boxes), tuple(arrows))


def streams_graph(health: Part) -> Graph:
    """Return the picture of a channel with clients of Streams: each client is an arrow or a box of its own."""
    boxes = {SOURCE: _source(health["source"])}
    arrows = []
    levels = {one["target"]: one["verdict"]["level"] for one in health["targets"]}
    for one in health["clients"]:
        queue, kind = f"queue {one['queue']}", one["kind"]
        boxes.setdefault(queue, Box(queue, one["queue"], ("queue",)))
        if kind in ("capture", "sync_capture"):
            captured = health["source"]["captured"] if kind == "capture" else ""
            arrows.append(Arrow(SOURCE, queue, tuple(text for text in (one["name"], captured) if text)))
        elif kind == "propagation":
            other = f"queue {one['destination']}"
            boxes.setdefault(other, Box(other, one["destination"], ("queue",)))
            arrows.append(Arrow(queue, other, (one["name"],)))
        elif kind == "apply":
            for target in (each for each in health["apply"] if each["client"] == one["name"]):
                place, level = f"target {target['target']}", levels.get(target["target"], "")
                boxes[place] = Box(place, target["target"], _applied(target), level)
                lines = [one["name"], *(f"at {at}" for at in list(target["positions"].values())[:2] if at)]
                arrows.append(Arrow(queue, place, tuple(lines), level))
        else:
            boxes[f"{kind} {one['name']}"] = Box(f"{kind} {one['name']}", one["name"], ("messaging client",))
            arrows.append(Arrow(queue, f"{kind} {one['name']}"))
    return Graph(tuple(boxes.values()), tuple(arrows))


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


def _applied(target: Part) -> tuple[str, ...]:
    if target["unreachable"]:
        return ("does not answer",)
    return (f"{target['waiting']} in the error queue",) if target["waiting"] else ()


def _lag(seconds: float | None, length: int | None) -> tuple[str, ...]:
    found = ([] if seconds is None else [f"{duration(seconds)} behind"]) + ([] if length is None else [size(length)])
    return tuple(found) or ("not known",)
