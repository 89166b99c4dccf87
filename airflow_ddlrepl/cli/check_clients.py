"""Check the clients of Oracle Streams of a channel file, without any of its databases."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.rules.function_use import FunctionUse, uses_in_runs

CASE = NameCase.LOWER


def notes_of_clients(channel: Channel) -> Iterator[str]:
    """Yield what is to be known of the clients of `streams`.

    Raises RuleError (RUL-…) for rules that can't be made, RUL-140 for a second capture process, RUL-134 for a function
    or a handler that `functions` does not list.
    """
    if not channel.clients.calls:
        return
    from airflow_ddlrepl.streams.procedures.notes import calls_for_many_tables, notes  # takes long to load
    from airflow_ddlrepl.streams.procedures.run import environment_of
    from airflow_ddlrepl.streams.queue.custom_functions import CustomFunctions

    environment = environment_of(channel.clients, CASE)
    _ = environment.capture
    functions = CustomFunctions({CASE.plain(name): place for name, place in channel.clients.functions.items()})
    for _, name in environment.functions():
        functions.place(name)
    used = _function_uses(channel) if calls_for_many_tables(environment) else []
    yield from notes(environment, used)


def _function_uses(channel: Channel) -> list[FunctionUse]:
    """Return how often functions were called so far; nothing where no repository says it.

    The repository is read as it is: a check changes nothing.
    """
    try:
        if not Repository.is_there(channel.repository):
            return []
        with Repository.as_it_is(channel.repository) as repository:
            return uses_in_runs(row.result for row in repository.runs(channel.name))
    except DdlReplError:
        return []
