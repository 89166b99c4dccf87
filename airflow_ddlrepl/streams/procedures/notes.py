"""This module finds what a person should know of rules and clients that are valid."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.rule import Rule
from airflow_ddlrepl.streams.transformations.declared import DeleteColumn, KeepColumns


def notes(environment: Environment) -> Iterator[str]:
    """Yield what a person should know: the warnings of the calls, and what transformations come late."""
    yield from environment.warnings
    for client in environment.clients.values():
        if client.kind in (ClientKind.APPLY, ClientKind.DEQUEUE):
            yield from _late_transformations(client)


def _late_transformations(client: Client) -> Iterator[str]:
    for rule in client.positive.rules.values() if client.positive is not None else ():
        if _hides(rule):
            yield (
                f"rule {rule.name} transforms at {client.kind.words} {client.name}: queue {client.queue}, and all"
                " queues before it, hold what it hides, and each such client does the work again"
            )


def _hides(rule: Rule) -> bool:
    """Return whether a rule's transformations may take values away."""
    return bool(rule.action.function) or any(
        isinstance(one, DeleteColumn | KeepColumns) for one in rule.action.declared
    )
