"""Where the data of a channel with clients of Streams goes: each client is an arrow, or a box where messages end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.plugin.drawing.layout import Arrow, Box, Graph
from airflow_ddlrepl.plugin.drawing.words import count, duration, size

Part = Mapping[str, Any]
MOST_PLACES = 2
"""So many feeds of a queue are drawn with their positions; the tooltip has no more either: the API has all."""


def streams_graph(health: Part, source: Box) -> Graph:
    """Return the picture: positions, and what waits since when, in the boxes of queues and on the arrows of clients."""
    boxes = {source.id: source}
    arrows = []
    queues = {one["queue"]: one for one in health["queues"]}
    targets = {one["target"]: one for one in health["targets"]}
    for one in health["clients"]:
        queue, kind = _queue(boxes, queues, one["queue"]), one["kind"]
        level = "bad" if one.get("trouble") or one["problem"] else ""
        if kind in ("capture", "sync_capture"):
            arrows.append(Arrow(source.id, queue, _client(one), level))
        elif kind == "propagation":
            arrows.append(Arrow(queue, _queue(boxes, queues, one["destination"]), _client(one), level))
        elif kind == "apply" and one["target"]:
            place, target = f"target {one['target']}", targets.get(one["target"], {})
            of_target = target.get("verdict", {}).get("level", "")
            boxes[place] = Box(place, one["target"], _target(target), of_target)
            arrows.append(Arrow(queue, place, _client(one), level or of_target))
        elif kind == "dequeue":
            place = f"{kind} {one['name']}"
            boxes[place] = Box(place, one["name"], ("messaging client",), level)
            arrows.append(Arrow(queue, place, _client(one)[1:], level))
    return Graph(tuple(boxes.values()), tuple(arrows))


def _queue(boxes: dict[str, Box], queues: Part, name: str) -> str:
    """Return the box of a queue, which is made where it is not there yet."""
    place = f"queue {name}"
    if place not in boxes:
        boxes[place] = Box(place, name, ("queue", *_queued(queues.get(name, {}))))
    return place


def _queued(queue: Part) -> tuple[str, ...]:
    if not queue:
        return ()
    if queue["messages"] is None:
        waits: tuple[str, ...] = ("nobody reads it",)
    else:
        waits = (_messages(queue), *_age(queue)) if queue["messages"] else ("nothing waits",)
    return (*_places("up to", queue["positions"]), *waits)


def _client(one: Part) -> tuple[str, ...]:
    """Return a client's name, where it is, and how far it is behind."""
    trouble = one.get("trouble")
    lines = [one["name"]]
    if trouble:
        lines.append(f"{'disabled' if trouble['is_disabled'] else 'fails'}: {trouble['code']}")
    lines += _places("at", one["positions"])
    if one["messages"]:
        lines.append(_messages(one))
    lines += _age(one) if one["messages"] or one["kind"] == "capture" else ()
    if one.get("lag_bytes"):
        lines.append(size(one["lag_bytes"]))
    return tuple(lines)


def _target(target: Part) -> tuple[str, ...]:
    """Return what stands in the box of a target: how far it is behind, and its error queue."""
    if not target or target.get("unreachable"):
        return ("does not answer",) if target else ()
    lag, waiting = target.get("lag_seconds"), target.get("waiting")
    lines = [] if lag is None else [f"{'at most ' if target.get('lag_is_at_most') else ''}{duration(lag)} behind"]
    lines += [f"{count(waiting)} in the error queue"] if waiting else []
    lines += ["disabled"] if target.get("is_disabled") else []
    lines += [f"{count(len(target['suspended']))} suspended"] if target.get("suspended") else []
    return tuple(lines)


def _places(word: str, positions: Part) -> list[str]:
    """Return the newest places of feeds; names of feeds stand before them where there are several."""
    known = {feed: at for feed, at in positions.items() if at}
    if len(known) <= 1:
        return [f"{word} {at}" for at in known.values()]
    lines, more = [f"{feed} {at}" for feed, at in known.items()][:MOST_PLACES], len(known) - MOST_PLACES
    return [*lines, f"and {more} more"] if more > 0 else lines


def _messages(one: Part) -> str:
    more = "over " if one["is_more"] else ""
    return f"{more}{count(one['messages'])} {'waits' if one['messages'] == 1 and not more else 'wait'}"


def _age(one: Part) -> list[str]:
    lag = one["lag_seconds"]
    return [f"{duration(lag)} behind"] if lag else []
