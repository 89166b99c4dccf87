"""What activation does for the clients of a channel: rules are checked, triggers made, tables brought to targets."""

from __future__ import annotations

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.flow.capture.left_out import why_not_in_the_log
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.results import Activated
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.flow.streams.instantiation.instantiate import instantiate
from airflow_ddlrepl.flow.streams.known_tables import BEGINNING, inspect_tables, note_tables
from airflow_ddlrepl.flow.streams.rows_in_log import UnsupportedTable, require_rows_in_log, unsupported_tables
from airflow_ddlrepl.flow.streams.sync_capture import prepare_client, prepared_clients, remove_sync_capture
from airflow_ddlrepl.flow.streams.uncaptured_rows import take_note
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.stored.rows import ChannelState
from airflow_ddlrepl.streams.rules.client import ClientKind

_READERS = (ClientKind.PROPAGATION, ClientKind.APPLY, ClientKind.DEQUEUE)


def require_clients(run: RunContext) -> None:
    """Raise what is wrong with the channel's clients: RuleError (RUL-…) of calls, functions, queues, and circles.

    RUL-143 where a capture process takes rows of a table that the log does not have.
    """
    clients = StreamsClients(run)
    clients.require_fitting()
    for client in clients.environment.clients.values():
        if client.kind is not ClientKind.SYNC_CAPTURE:  # its functions are the source's own
            clients.rules(client).stage(clients.values)
        if client.kind in _READERS:
            clients.require_fed(client)
    for target in clients.section.targets:
        clients.environment.existing_client(ClientKind.APPLY, target.apply)
    _ = clients.capture
    for warning in clients.environment.warnings:
        log.warning("%s", warning)
    require_rows_in_log(run, lambda: _without_log(run))


def unsupported(run: RunContext) -> list[UnsupportedTable]:
    """Return each client's tables whose rows it never gets, as the source has them now."""
    return list(unsupported_tables(run, _without_log(run)))


def _without_log(run: RunContext) -> list[tuple[TableName, str]]:
    missing = ((table.name, why_not_in_the_log(run, table)) for table in inspect_tables(run))
    return [(name, why) for name, why in missing if why]


def require_whole_log(run: RunContext, captured: Position | None) -> None:
    """Raise ConfigError CFG-192: a part of the log was lost, and targets of apply processes lack its changes."""
    raise ConfigError(
        f"the log behind {captured} is lost: what apply processes of channel {run.channel.name} have not got of it"
        " can't come any more",
        code="CFG-192",
        at=captured,
        hint="`ddlrepl deactivate`, remove the tables at the targets or make their rows equal by other means, then"
        " `ddlrepl activate`: tables that are not there are loaded",
    )


def activate_without_log(run: RunContext) -> Activated:
    """Activate a channel that no capture process reads the log of: its tables are known, and nothing else is made."""
    tables = note_tables(run)
    row = run.repository.channel(run.channel.name)
    if row is None or row.state is not ChannelState.ACTIVE or row.fingerprint != run.channel.fingerprint():
        run.repository.set_state(run.channel.name, run.token, ChannelState.ACTIVE, run.channel.fingerprint())
    return Activated(BEGINNING, tuple(sorted(str(table.name) for table in tables)))


def bring_tables(run: RunContext, *, load: bool) -> dict[str, int]:
    """Make the triggers of synchronous captures, which capture from now on, and bring tables to the targets.

    Returns rows by table, and warns of tables that were there. load: bring them now; else the next cycle does.
    """
    clients = StreamsClients(run)
    for client in clients.of_kind(ClientKind.SYNC_CAPTURE):
        for table in prepare_client(clients, client).missing:
            log.warning("synchronous capture %s: %s is not there; runs look for it again", client.name, table)
    take_note(run)
    rows: dict[str, int] = {}
    for target in clients.section.targets if load else ():
        found = instantiate(run, target.name)
        rows |= {f"{target.name}: {table}": count for table, count in found.rows.items()}
        told = [f"{table}: {what}" for table, what in found.existing.items()]
        for line in (*told, *found.warnings):
            log.warning("target %s: %s", target.name, line)
    return rows


def remove_triggers(run: RunContext) -> None:
    """Remove the triggers of synchronous captures."""
    for name in sorted(prepared_clients(run)):
        remove_sync_capture(run, name)
