"""This module finds what a person should know of rules and clients that are valid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.function_use import FunctionUse
from airflow_ddlrepl.streams.rules.rule import Rule
from airflow_ddlrepl.streams.rules.split import split_rule
from airflow_ddlrepl.streams.transformations.declared import DeleteColumn, KeepColumns


def notes(environment: Environment, used: Sequence[FunctionUse] = ()) -> Iterator[str]:
    """Yield what a person should know: warnings of the calls, what transformations cost where, whom subsets starve.

    used: how often functions were called in runs so far.
    """
    yield from environment.warnings
    clients = list(environment.clients.values())
    for client in clients:
        if client.kind in (ClientKind.APPLY, ClientKind.DEQUEUE):
            yield from _late_transformations(client)
        if client.kind in _WORK:
            is_downstream = client.name in environment.downstream
            yield from _early_transformations(client, clients, _DOWNSTREAM if is_downstream else _WORK[client.kind])
        yield from _wide_functions(client, used)
    yield from _subsets(clients)
    yield from _whole_old_rows(clients)


_WORK = {
    ClientKind.CAPTURE: "the tasks that read the source's log do",
    ClientKind.SYNC_CAPTURE: "the transactions that change its rows do, at the source,",
}
_DOWNSTREAM = "the tasks that read the log of the other database do, off that database,"


def _early_transformations(client: Client, clients: Iterable[Client], who_works: str) -> Iterator[str]:
    """Yield what a transformation at a capture costs, where several clients read what it captures."""
    readers = [one for one in clients if one.queue == client.queue and one.kind not in _WORK]
    for rule in _positive(client):
        if len(readers) > 1 and (rule.action.declared or rule.action.function):
            yield (
                f"rule {rule.name} transforms at {client.words}: {who_works} the work, and"
                f" all {len(readers)} clients of queue {client.queue} get what it leaves, {_names(readers)}; a"
                " transformation at one of these is for its destination alone"
            )


def needless_calls(environment: Environment, used: Iterable[FunctionUse]) -> Iterator[str]:
    """Yield which functions of rules for many tables leave most of what they get as it is, with the share."""
    for one in used:
        if one.is_mostly_needless:
            client = environment.clients.get((ClientKind(one.kind), one.client))
            rules = [rule for rule in _wide_rules(client) if rule.action.function == one.function] if client else []
            yield from (_needless(rule, one) for rule in rules[:1])


def calls_for_many_tables(environment: Environment) -> bool:
    """Return whether a rule for rows of many tables calls a function."""
    return any(True for client in environment.clients.values() for _ in _wide_rules(client))


def _wide_functions(client: Client, used: Sequence[FunctionUse]) -> Iterator[str]:
    """Yield which functions are called for changes of whatever table, with the share that they leave if it is known."""
    for rule in _wide_rules(client):
        key = (client.kind, client.name, rule.action.function)
        found = [one for one in used if (one.kind, one.client, one.function) == key and one.is_mostly_needless]
        if found:
            yield _needless(rule, found[0])
        else:
            yield (
                f"function {rule.action.function} is called for each change that rule {rule.name} is true for, in"
                " whatever table: rules of the tables that need it cost less; a table that comes later needs its own"
            )


def _wide_rules(client: Client) -> Iterator[Rule]:
    """Yield the rules for rows of many tables that call a function."""
    for rule in _positive(client):
        is_of_table = any(name == "get_object_name" for name, _ in split_rule(rule).equal)
        if rule.action.function and not is_of_table and rule.variables <= {"dml"}:
            yield rule


def _needless(rule: Rule, use: FunctionUse) -> str:
    share = f"{use.unchanged} of {use.calls} changes ({100 * use.unchanged // use.calls} %)"
    return (
        f"function {use.function} of rule {rule.name} left {share} as they were, and each call costs time: a rule of"
        " the tables that need it, or a DML handler of an apply process, costs less; a table that comes later needs its"
        " own"
    )


def _subsets(clients: Iterable[Client]) -> Iterator[str]:
    """Yield which clients want all rows of a table of which a capture takes a subset, and which subset all want."""
    captures = [one for one in clients if one.kind in _WORK]
    taken = {table: one for one in captures for table in _subset_tables(one)}
    others = [one for one in clients if one.kind not in _WORK]
    for table, capture in taken.items():
        for one in others:
            if table not in _subset_tables(one) and _takes_rows_of(one, table):
                yield (
                    f"{one.words} gets a subset of {'.'.join(table)} alone, for {capture.words}"
                    f" takes no more: put the subset rule to the clients that want no more"
                )
    appliers = [one for one in others if one.kind is ClientKind.APPLY]
    found = [{rule.text for rule in _positive(one) if rule.action.subset is not None} for one in appliers]
    if len(found) > 1 and found[0] and all(one == found[0] for one in found) and not taken:
        yield f"{_names(appliers)} take the same subsets: a subset rule at the capture keeps all other rows from queues"


def _whole_old_rows(clients: Iterable[Client]) -> Iterator[str]:
    """Yield what the source logs more, because a subset rule has to see the old row, too."""
    for client in clients:
        for owner, name in sorted(_subset_tables(client)):
            if client.kind is not ClientKind.SYNC_CAPTURE:  # its triggers see both rows
                yield (
                    f"{client.words} takes a subset of {owner}.{name}: its rows come and go as they are updated, so the"
                    f" source logs the whole old row of each UPDATE and DELETE there (REPLICA IDENTITY FULL)"
                )


def _subset_tables(client: Client) -> set[tuple[str, str]]:
    equal = [dict(split_rule(rule).equal) for rule in _positive(client) if rule.action.subset is not None]
    return {(str(one["get_object_owner"]), str(one["get_object_name"])) for one in equal}


def _takes_rows_of(client: Client, table: tuple[str, str]) -> bool:
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
                f"rule {rule.name} transforms at {client.words}: values that it hides leave the"
                f" source as they are, queue {client.queue} and all queues before it hold them, and the work, which is"
                " done off the source, is done again by each such client"
            )


def _hides(rule: Rule) -> bool:
    """Return whether a rule's transformations may take values away."""
    return bool(rule.action.function) or any(
        isinstance(one, DeleteColumn | KeepColumns) for one in rule.action.declared
    )
