"""This module gives Airflow the commands of `ddlrepl` as `airflow ddlrepl …`, with Airflow's own connections."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

from airflow.cli.cli_config import ActionCommand, Arg, CLICommand


class PassThrough(Arg):
    """This argument of Airflow's command line takes all words after it, and passes them to `ddlrepl` unchanged.

    Its options, its --help and its errors are then the same in both.
    """

    def add_to_parser(self, parser: argparse.ArgumentParser) -> None:
        """Let the parser return all words as `arguments`, instead of parsing them."""
        parse = parser.parse_known_args

        def pass_on(args: Sequence[str], namespace: object = None) -> tuple[argparse.Namespace, list[str]]:
            defaults, _ = parse([])
            return argparse.Namespace(**vars(defaults), arguments=list(args)), []

        parser.parse_known_args = pass_on  # type: ignore[method-assign, assignment]


def cli_commands() -> list[CLICommand]:
    """Return the commands for Airflow's command line (provider info, `cli`)."""
    return [
        ActionCommand(
            name="ddlrepl",
            help="Replicate databases together with their schema changes",
            func=_run,
            args=(PassThrough(("arguments",)),),
        )
    ]


def _run(arguments: argparse.Namespace) -> None:
    from airflow_ddlrepl.cli import main
    from airflow_ddlrepl.hooks.connections import connections_file, stored_connection

    main(arguments.arguments, partial(connections_file, find=stored_connection))
