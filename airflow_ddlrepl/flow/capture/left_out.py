"""A table of the channel is left out when its rows are not in the stream; every run warns of it."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.source import LeftOut
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.results import Captured
from airflow_ddlrepl.model.table import Identity, Table
from airflow_ddlrepl.scope.client import Client, client_at
from airflow_ddlrepl.scope.decide import ChangeKind, decide


def left_out(run: RunContext) -> list[LeftOut]:
    """Return the channel's tables whose rows no cycle brings, and that a target would take.

    Of a channel with clients of Streams none: rules that take their rows are refused.
    """
    return [one for one in not_in_the_log(run) if not one.is_reloaded] if run.channel.targets else []


def not_in_the_log(run: RunContext) -> list[LeftOut]:
    """Return the channel's tables whose rows are not in the log and that a target would take.

    These are the tables that are left out, and those that cycles load whole; of a channel with clients of Streams all
    of them, whatever rules say.
    """
    tables = run.source.membership.left_out() if run.channel.captures_log else ()
    clients = [client_at(run.channel.at(target.name)) for target in run.channel.targets] or [Client()]
    return [one for one in tables if any(decide(client, one.name, ChangeKind.TABLE).is_taken for client in clients)]


def require_captured_rows(run: RunContext) -> None:
    """Raise RuleError RUL-143 where a capture process takes rows of a table that is left out."""
    if run.channel.clients.is_empty:
        return
    from airflow_ddlrepl.flow.streams.rows_in_log import require_rows_in_log

    require_rows_in_log(run, lambda: ((one.name, str(one)) for one in run.source.membership.left_out()))


def why_not_in_the_log(run: RunContext, table: Table) -> str:
    """Return why a table of that shape can't be in the stream, whenever it had it; "" when it can."""
    is_keyless = table.key is None or not table.key.is_primary
    leaves = run.channel.source.leaves_identities
    if table.is_partitioned:
        return ""
    if table.unlogged:
        return "it was unlogged"
    if table.key is None and any(column.generated == "virtual" for column in table.columns):
        return "it had a virtual generated column and no key"
    if leaves and (table.identity is Identity.NOTHING or (table.identity is Identity.DEFAULT and is_keyless)):
        return "the log could not tell its rows apart"
    return ""


def lost_error(names: Sequence[str]) -> SourceError:
    """Return the error of a run whose capture found tables that have left the stream and that it can't put back."""
    many = f"tables {', '.join(names)} are" if len(names) > 1 else f"table {names[0]} is"
    return SourceError(
        f"{many} no longer published at the source: their rows do not reach the targets, the other tables go on",
        code="SRC-126",
        hint="`ddlrepl activate` as the role that activated the channel puts them back; the next cycle loads them."
        " Somebody has taken them out of what the source publishes, or the source was put back",
    )


def undecodable_error(names: Sequence[str]) -> SourceError:
    """Return the error of a run whose source has tables with names or texts that are no UTF-8."""
    many = f"tables {', '.join(names)} have" if len(names) > 1 else f"table {names[0]} has"
    return SourceError(
        f"{many} a name, or a text such as a default or a label, with bytes that are no UTF-8 (\\x… here): their rows"
        " do not reach the targets, the other tables go on",
        code="SRC-176",
        hint="rename it at the source, from a session with client_encoding SQL_ASCII: the next cycle loads the table",
    )


def require_in_stream(captured: Captured) -> None:
    """Raise SourceError SRC-126, or SRC-176, where the capture found tables whose rows can't be in the stream.

    They have left it, and this role can't put them back; or their names can't be decoded.
    """
    if captured.lost:
        raise lost_error(captured.lost)
    if captured.undecodable:
        raise undecodable_error(captured.undecodable)


def warn_of_left_out(missing: Sequence[LeftOut]) -> None:
    """Log a warning for each table that the targets do not get: nobody has to look for it."""
    for one in missing:
        log.warning(
            "%s is left out, so its rows do not reach the targets: %s. It is loaded and takes part again as soon as it"
            " can be in the stream",
            one.name,
            one,
        )
