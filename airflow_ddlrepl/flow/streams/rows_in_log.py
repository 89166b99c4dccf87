"""This module refuses rules of a capture process for tables whose rows are not in the source's log."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.streams.rules.possible import PossibleChanges


def require_rows_in_log(run: RunContext, missing: Iterable[tuple[TableName, str]]) -> None:
    """Raise RuleError RUL-143 where the capture process takes rows of a table that the log does not have.

    missing: the source's tables whose rows are not in its log, and why.
    """
    clients = StreamsClients(run)
    client = clients.capture
    if client is None:
        return
    possible = PossibleChanges(client, clients.database)
    found = [(name, why) for name, why in missing if possible.takes(name.schema, name.name)]
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
