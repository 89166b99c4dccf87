"""The states of clients of Streams as lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from airflow_ddlrepl.flow.targets.lag import lag_text
from airflow_ddlrepl.streams.rules.client import ClientKind

OWN_LINES = (ClientKind.APPLY,)
"""The status tells of these by target."""


def client_lines(states: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each client: its queue, where it is, how many messages wait for it, and how long the oldest."""
    return [_line(one) for one in states if one["kind"] not in OWN_LINES]


def _line(state: Mapping[str, Any]) -> str:
    kind = ClientKind(state["kind"])
    way = f"from {state['queue']} to {state['destination']}" if state["destination"] else f"queue {state['queue']}"
    who = f"{kind.words} {state['name']}, {way}"
    if state["problem"]:
        return f"{who}: {state['problem']}"
    known = {feed: at for feed, at in state["positions"].items() if at}
    places = [at if len(known) == 1 else f"{at} of {feed}" for feed, at in known.items()]
    parts = [f"at {', '.join(places)}" if places else "at its beginning"]
    if kind is ClientKind.CAPTURE:
        parts.append(lag_text({**state}))
    elif state["messages"] is None:
        parts.append("nobody knows how much waits")
    elif state["messages"]:
        parts.append(f"{waiting_text(state)}, the oldest for {state['lag_seconds']} s")
    else:
        parts.append("nothing waits")
    return f"{who}: {', '.join(parts)}"


def waiting_text(state: Mapping[str, Any]) -> str:
    """Return how many messages wait: `3 messages wait`, `more than 10,000 messages wait`."""
    number, more = state["messages"], "more than " if state["is_more"] else ""
    return "1 message waits" if number == 1 and not more else f"{more}{number:,} messages wait"
