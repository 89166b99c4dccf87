"""This module defines the command `ddlrepl init`: from two locations to a channel file that can be activated."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from airflow_ddlrepl.cli.command import command
from airflow_ddlrepl.cli.open_channel import command_name, connected
from airflow_ddlrepl.cli.propose.secrets import known
from airflow_ddlrepl.errors import ConfigError

if TYPE_CHECKING:
    from airflow_ddlrepl.cli.propose.answers import Answers
    from airflow_ddlrepl.config.sections.channel import Channel

_WHERE = "URL or Airflow connection id. 'postgresql://app:${APP_PASSWORD}@host/shop' takes a variable"


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    command(app, "init", exit_code_of=lambda result: result.exit_code)(init)


def init(
    file: Annotated[Path | None, typer.Argument(metavar="[CHANNEL.yaml]", help="Default: NAME.yaml.")] = None,
    source: Annotated[str, typer.Option(metavar="LOCATION", help=f"{_WHERE}.")] = "",
    target: Annotated[str, typer.Option(metavar="LOCATION", help="The same of the target.")] = "",
    channel: Annotated[str, typer.Option(metavar="NAME", help="Default: the file's name, or the database's.")] = "",
    table: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="PATTERN", help="schema.table; repeat it. Default: every schema's tables."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> Any:
    """Look at a source and a target, propose a channel file, and say what is missing. Changes nothing there.

    Asks for what no option says. Exit code 1 when something has to be done before `activate`, 4 when the target does
    not answer.
    """
    from airflow_ddlrepl.cli.propose.answers import answers

    given = answers(file, source, target, channel, table or [], is_overwriting=force)
    return propose(given)


def propose(answers: Answers) -> Any:
    """Write the channel file for these answers, and return the proposal. Raises what the source raises."""
    from airflow_ddlrepl.cli.propose.answers import target_name
    from airflow_ddlrepl.cli.propose.channel_text import Draft, bare, channel_text, schema_patterns
    from airflow_ddlrepl.cli.propose.found_tables import inspect_places
    from airflow_ddlrepl.cli.propose.proposal import Proposal
    from airflow_ddlrepl.config.file.load import read_channel

    place = target_name(answers.target.text)
    draft = Draft(answers.channel, answers.source.text, place, answers.target.text, answers.tables or ("*.*",))
    with known(answers.source, answers.target):
        with _looking(read_channel(bare(draft), str(answers.file))) as run:
            found = inspect_places(run)
        names = [one.name for one in found.tables]
        tables = answers.tables or schema_patterns(names)
        final = Draft(answers.channel, answers.source.text, place, answers.target.text, tables)
        text = channel_text(final, found)
        read_channel(text, str(answers.file))
    _write(answers, text)
    variables = tuple(dict.fromkeys([*answers.source.variables, *answers.target.variables]))
    return Proposal(answers.file, answers.channel, found, variables, command_name())


@contextmanager
def _looking(channel: Channel) -> Iterator[Any]:
    """Open a channel that does not run yet, with a repository and a trail that are gone afterwards."""
    from airflow_ddlrepl.flow.run.context import RunContext
    from airflow_ddlrepl.ports.work import InProcess

    with tempfile.TemporaryDirectory(prefix="ddlrepl-init-") as folder, connected(channel):
        state = {"repository": f"sqlite:///{folder}/repository.db", "trail": f"{folder}/trail"}
        with RunContext(channel.model_copy(update=state), InProcess()) as run:
            yield run


def _write(answers: Answers, text: str) -> None:
    """Write the channel file, and the JSON Schema beside it that the file's first line names."""
    from airflow_ddlrepl.cli.propose.channel_text import SCHEMA_FILE
    from airflow_ddlrepl.config.file.json_schema import json_schema

    part = answers.file.with_name(f".{answers.file.name}.{os.getpid()}")
    try:
        if answers.is_overwriting:
            part.write_text(text, encoding="utf-8")
            part.replace(answers.file)
        else:
            with answers.file.open("x", encoding="utf-8") as file:
                file.write(text)
        schema = answers.file.with_name(SCHEMA_FILE)
        schema.write_text(json.dumps(json_schema(), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        hint = "name a file in a folder that you may write to"
        raise ConfigError(f"{error.filename}: {error.strerror}", code="CFG-152", hint=hint) from None
