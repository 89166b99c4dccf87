"""This module tells how often a channel's clients have called custom functions, and which calls were needless."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_ddlrepl.flow.run.context import log
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.streams.procedures.notes import needless_calls
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.function_use import FunctionCounts, FunctionUse, summed, uses


def uses_by(clients: StreamsClients, counted: Iterable[tuple[Client, FunctionCounts]]) -> tuple[FunctionUse, ...]:
    """Return which functions clients have called, and warn of those that left most of what they got as it was."""
    each = (use for one, counts in counted for use in uses(one.name, one.kind, clients.user(one), counts.to_json()))
    found = summed(each)
    warn_of_needless(clients, found)
    return tuple(found)


def needless_hints(clients: StreamsClients, used: Iterable[FunctionUse]) -> tuple[str, ...]:
    """Return which functions left most of what they got as it was, with what would cost less."""
    return tuple(needless_calls(clients.environment, used))


def warn_of_needless(clients: StreamsClients, used: Iterable[FunctionUse]) -> None:
    """Log a warning for each function that left most of what it got as it was."""
    for hint in needless_hints(clients, used):
        log.warning("%s", hint)
