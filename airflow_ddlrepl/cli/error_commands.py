"""The commands `ddlrepl errors …`: what went wrong, what waits because of it, and another try of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from airflow_ddlrepl.cli.command import ChannelFile, Spark, Tables, lazily
from airflow_ddlrepl.cli.terminal import Result
from airflow_ddlrepl.errors import ConfigError

if TYPE_CHECKING:
    from airflow_ddlrepl.cli import commands
else:
    commands = lazily("airflow_ddlrepl.cli.commands")

Number = Annotated[str, typer.Argument(metavar="ID", help="Of a transaction that waits, as `errors list` prints it.")]


def list_errors(channel: ChannelFile) -> Result:
    """List the errors that ended runs, newest first, the rows that targets discard, and transactions that wait."""
    return commands.errors(channel)


def show(channel: ChannelFile, number: Number) -> Result:
    """Show a transaction that an apply process could not apply: its changes, the error, and the target's rows."""
    return commands.with_flow(channel, lambda flow, run: cast(Result, flow.show_error(run, number)))


def retry(
    channel: ChannelFile,
    number: Annotated[str, typer.Argument(metavar="[ID]", help="Only this transaction that waits.")] = "",
    table: Tables = None,
    everything: Annotated[bool, typer.Option("--all", help="All transactions that wait, in their order.")] = False,
    master: Spark = "",
) -> Result:
    """Bring suspended tables up to their targets now: those named, or all. Or apply transactions that wait again."""
    if (bool(number), bool(table), everything).count(True) > 1:
        raise _one_of("ID, --table and --all")
    if number or everything:
        return commands.with_flow(channel, lambda flow, run: cast(Result, flow.retry_errors(run, number)))
    return commands.retry(channel, table or [], master)


def delete(
    channel: ChannelFile,
    number: Annotated[str, typer.Argument(metavar="[ID]", help="This transaction that waits: it is lost.")] = "",
    table: Tables = None,
) -> Result:
    """Give up the changes that suspended tables wait with: they are loaded again. Or a transaction that waits."""
    if bool(number) == bool(table):
        raise _one_of("ID and --table")
    if number:
        return commands.with_flow(channel, lambda flow, run: cast(Result, flow.delete_error(run, number)))
    return commands.give_up(channel, table or [])


def _one_of(what: str) -> ConfigError:
    return ConfigError(f"one of {what} has to be given", code="CFG-195", hint="`ddlrepl errors list` lists both")


COMMANDS: Mapping[str, Callable[..., Any]] = {"list": list_errors, "show": show, "retry": retry, "delete": delete}
"""The functions of the commands, by the command's name."""
