"""This module defines the commands that enqueue messages, and dequeue them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from airflow_ddlrepl.cli.command import ChannelFile, command
from airflow_ddlrepl.cli.open_channel import open_channel
from airflow_ddlrepl.cli.terminal import Result
from airflow_ddlrepl.errors import Exit, MessageError

MessageFile = Annotated[str, typer.Argument(metavar="FILE|-", help="JSON: one message, a list, or one per line.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    command(app, "enqueue")(enqueue_file)
    command(app, "dequeue", exit_code_of=_exit_code)(print_dequeued)


def enqueue_file(
    channel: ChannelFile,
    file: MessageFile,
    queue: Annotated[str, typer.Option(metavar="NAME", help="Default: the capture process's.")] = "",
) -> Result:
    """Put messages into a queue: all of the file's, in one transaction at the source."""
    messages = _messages(file)
    with open_channel(channel) as known:
        from airflow_ddlrepl.flow.run.context import RunContext
        from airflow_ddlrepl.flow.streams.enqueue import enqueue
        from airflow_ddlrepl.ports.work import InProcess
        from airflow_ddlrepl.repository.process import this_holder

        with RunContext(known, InProcess(), this_holder()) as run:
            return enqueue(run, messages, queue)


def print_dequeued(
    channel: ChannelFile,
    client: Annotated[str, typer.Option(metavar="NAME", help="The messaging client, where there are several.")] = "",
    browse: Annotated[bool, typer.Option("--browse", help="Leave the messages in the queue.")] = False,
    most: Annotated[int, typer.Option("--max", min=1, metavar="N", help="At most so many messages.")] = 100,
) -> Any:
    """Print the messages that a messaging client takes, and take them from its queue once they are printed.

    Exit code 1 when a message can't be given: it waits, and those behind it.
    """
    return _dequeued(channel, client, browse, most)


@contextmanager
def _dequeued(channel: Path, client: str, browse: bool, most: int) -> Iterator[Result]:
    with open_channel(channel) as known:
        from airflow_ddlrepl.flow.run.context import RunContext
        from airflow_ddlrepl.flow.streams.dequeue import browsed, dequeuing
        from airflow_ddlrepl.ports.work import InProcess
        from airflow_ddlrepl.repository.process import this_holder

        with RunContext(known, InProcess(), this_holder()) as run:
            if browse:
                yield browsed(run, client, most)
                return
            with dequeuing(run, client, most) as found:
                yield found


def _exit_code(result: Any) -> Exit:
    code: Exit = result.exit_code
    return code


def _messages(file: str) -> list[Any]:
    """Return the messages in a file, or in the standard input. Raises MessageError MSG-106."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MessageError(
            f"{file} can't be read: {error}", code="MSG-106", hint="name a file, or - for the standard input"
        ) from None
    try:
        try:
            data = json.loads(text, parse_float=Decimal)
        except ValueError:
            data = [json.loads(line, parse_float=Decimal) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise MessageError(
            f"{file} is no JSON: {error}", code="MSG-106", hint='write {"type": "own.m", "fields": {"f": 1}}'
        ) from None
    return data if isinstance(data, list) else [data]
