"""This module makes a function a command: it prints the function's result, and adds `--json`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from airflow_ddlrepl.cli.terminal import Work, always_done, perform
from airflow_ddlrepl.errors import Exit

ChannelFile = Annotated[Path, typer.Argument(metavar="CHANNEL.yaml", help="The channel file.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on standard output, and nothing else there.")
]


def command(
    group: typer.Typer, name: str | None = None, judge: Callable[[Any], Exit] = always_done
) -> Callable[[Callable[..., Work]], Callable[..., Work]]:
    """Return a decorator that makes a function a command of the group, prints its result, and adds `--json` to it.

    judge: the exit code that a result means.
    """

    def add(function: Callable[..., Work]) -> Callable[..., Work]:
        @wraps(function)
        def run(as_json: bool = False, **options: Any) -> None:
            raise typer.Exit(perform(partial(function, **options), as_json=as_json, judge=judge))

        own = inspect.signature(function, eval_str=True)
        option = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)
        run.__signature__ = own.replace(parameters=[*own.parameters.values(), option])  # type: ignore[attr-defined]
        group.command(name)(run)
        return function

    return add
