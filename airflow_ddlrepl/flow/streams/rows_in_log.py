"""This module lists the tables that clients can't support, and refuses rules of a capture process for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.streams.messages import MessageClass
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.possible import PossibleChanges


def require_rows_in_log(run: RunContext, missing: Callable[[], Iterable[tuple[TableName, str]]]) -> None:
    """Raise RuleError RUL-143 where the capture process takes rows of a table that the log does not have.

    missing: finds the source's tables whose rows are not in its log, and why; it is asked where there is such a client.
    """
    clients = StreamsClients(run)
    client = clients.capture
    if client is None:
        return
    possible = PossibleChanges(client, clients.database)
    found = [(name, why) for name, why in missing() if possible.takes(name.schema, name.name)]
    if found:
        table = found[0][0]
        told = "; ".join(f"{name}: {why}" for name, why in found)
        raise RuleError(
            f"rules of capture process {client.name} take rows that the log does not have: {told}",
            code="RUL-143",
            table=table,
            hint=f"leave it out by the negative rule set, add_table_rules: {{table_name: {table}, streams_type:"
            f" capture, streams_name: {client.name}, queue_name: {client.queue}, inclusion_rule: false}}",
        )


class UnsupportedTable(NamedTuple):
    """An unsupported table is one whose rows a client never gets, and why. is_taken: its rules ask for them."""

    client: Client
    table: TableName
    why: str
    is_taken: bool


def unsupported_tables(run: RunContext, missing: Iterable[tuple[TableName, str]]) -> Iterator[UnsupportedTable]:
    """Yield for each client the tables whose rows it never gets.

    Triggers of a synchronous capture give it the rows of any table. missing: tables without rows in the log, and why.
    """
    clients, known = StreamsClients(run), list(missing)
    for client in clients.environment.clients.values():
        if client.kind is not ClientKind.SYNC_CAPTURE and _reads_log(clients, client):
            possible = PossibleChanges(client, clients.database)
            for name, why in known:
                yield UnsupportedTable(client, name, why, possible.takes(name.schema, name.name))


def _reads_log(clients: StreamsClients, client: Client) -> bool:
    """Return whether a client gets what the capture process has read, itself or through propagations."""
    if client.kind is ClientKind.CAPTURE:
        return True
    return any(feed.message_class is MessageClass.CAPTURED for feed in clients.feeds(client.queue))
