"""This module finds what a person should know of rules and clients that are valid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.rule import Rule
from airflow_ddlrepl.streams.rules.split import split_rule
from airflow_ddlrepl.streams.transformations.declared import DeleteColumn, KeepColumns


def notes(environment: Environment) -> Iterator[str]:
    """Yield what a person should know: warnings of the calls, what transformations cost where, whom subsets starve."""
    yield from environment.warnings
    clients = list(environment.clients.values())
    for client in clients:
        if client.kind in (ClientKind.APPLY, ClientKind.DEQUEUE):
            yield from _late_transformations(client)
        if client.kind in _WORK:
            yield from _early_transformations(client, clients)
        yield from _wide_functions(client)
    yield from _subsets(clients)


_WORK = {
    ClientKind.CAPTURE: "the tasks that read the source's log do",
    ClientKind.SYNC_CAPTURE: "the transactions that change its rows do, at the source,",
}


def _early_transformations(client: Client, clients: Iterable[Client]) -> Iterator[str]:
    """Yield what a transformation at a capture costs, where several clients read what it captures."""
    readers = [one for one in clients if one.queue == client.queue and one.kind not in _WORK]
    for rule in _positive(client):
        if len(readers) > 1 and (rule.action.declared or rule.action.function):
            yield (
                f"rule {rule.name} transforms at {client.words}: {_WORK[client.kind]} the work, and"
                f" all {len(readers)} clients of queue {client.queue} get what it leaves, {_names(readers)}; a"
                " transformation at one of these is for its destination alone"
            )


def _wide_functions(client: Client) -> Iterator[str]:
    for rule in _positive(client):
        split = split_rule(rule)
        is_of_table = any(name == "get_object_name" for name, _ in split.equal)
        if rule.action.function and not is_of_table and rule.variables <= {"dml"}:
            yield (
                f"function {rule.action.function} is called for each change that rule {rule.name} is true for, in"
                " whatever table: rules of the tables that need it cost less; a table that comes later needs its own"
            )


def _subsets(clients: Iterable[Client]) -> Iterator[str]:
    """Yield which clients want all rows of a table of which a capture takes a subset, and which subset all want."""
    captures = [one for one in clients if one.kind in _WORK]
    taken = {table: one for one in captures for table in _subset_tables(one)}
    others = [one for one in clients if one.kind not in _WORK]
    for table, capture in taken.items():
        for one in others:
            if table not in _subset_tables(one) and _wants(one, table):
                yield (
                    f"{one.words} gets a subset of {'.'.join(table)} alone, for {capture.words}"
                    f" takes no more: put the subset rule to the clients that want no more"
                )
    appliers = [one for one in others if one.kind is ClientKind.APPLY]
    found = [{rule.text for rule in _positive(one) if rule.action.subset is not None} for one in appliers]
    if len(found) > 1 and found[0] and all(one == found[0] for one in found) and not taken:
        yield f"{_names(appliers)} take the same subsets: a subset rule at the capture keeps all other rows from queues"


def _subset_tables(client: Client) -> set[tuple[str, str]]:
    equal = [dict(split_rule(rule).equal) for rule in _positive(client) if rule.action.subset is not None]
    return {(str(one["get_object_owner"]), str(one["get_object_name"])) for one in equal}


def _wants(client: Client, table: tuple[str, str]) -> bool:
    """Return whether a client takes rows of a table, whatever their values."""
    if client.positive is None:
        return True
    known = {"get_object_owner": table[0], "get_object_name": table[1], "get_command_type": "INSERT", "get_tag": None}
    for rule in _positive(client):
        split = split_rule(rule)
        database = dict(split.equal).get("get_source_database_name")
        attributes = {**known, "get_source_database_name": database, "is_null_tag": "Y"}
        if rule.action.subset is None and split.may_be_true(attributes):
            return True
    return False


def _positive(client: Client) -> list[Rule]:
    return list(client.positive.rules.values()) if client.positive is not None else []


def _names(clients: Iterable[Client]) -> str:
    return ", ".join(one.words for one in clients)


def _late_transformations(client: Client) -> Iterator[str]:
    for rule in _positive(client):
        if _hides(rule):
            yield (
                f"rule {rule.name} transforms at {client.words}: queue {client.queue}, and all"
                " queues before it, hold what it hides, and each such client does the work again"
            )


def _hides(rule: Rule) -> bool:
    """Return whether a rule's transformations may take values away."""
    return bool(rule.action.function) or any(
        isinstance(one, DeleteColumn | KeepColumns) for one in rule.action.declared
    )
