"""The commands. Each opens what it needs, lets the flow do the work and prints what came out."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from airflow_ddlrepl.cli import commands
from airflow_ddlrepl.cli.open_channel import Connections, connections_of, environment_alone
from airflow_ddlrepl.cli.terminal import Result, always_done, perform, start_logging
from airflow_ddlrepl.config.sections.policies import Enrollment, TrailChoice
from airflow_ddlrepl.errors import Exit


class ListFirst(TyperGroup):
    """`ddlrepl controls FILE` means `ddlrepl controls list FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["list", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="ddlrepl",
    help="Replicate a database together with its schema changes.",
    epilog="Exit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 stopped at a control, 4 unreachable.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
controls = typer.Typer(cls=ListFirst, help="Breakpoints that stop a target until a person removes them.")
app.add_typer(controls, name="controls")

ChannelFile = Annotated[Path, typer.Argument(metavar="CHANNEL.yaml", help="The channel file.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, nothing else there.")]
Tables = Annotated[list[str] | None, typer.Option("--table", metavar="TABLE", help="schema.table; again for more.")]
Until = Annotated[
    str,
    typer.Option("--until", metavar="MOMENT|POSITION", help="Stop there: 2026-11-21T08:00:00+00:00, or 0/16B3748."),
]
Into = Annotated[
    str,
    typer.Option(
        "--into", metavar="NAME", help="One of the channel's `replays`; or a target. Default: the channel's target."
    ),
]
Start = Annotated[
    str,
    typer.Option(
        metavar="now|oldest|MOMENT|POSITION", help="Capture begins there again, in the log that the source holds."
    ),
]
Known = Annotated[
    Enrollment,
    typer.Option(
        help="Shapes that are known: as they are; inspected where the log contradicts; this and nothing else."
    ),
]
Repair = Annotated[
    bool, typer.Option("--repair", help="Refresh what differs row by row, writing nothing else; then compare again.")
]
RefreshOptions = Annotated[
    str,
    typer.Option(
        "--options",
        metavar="OPTIONS",
        help='For the tables named: "-gr -v" row by row, each difference told; -f triggers fire; -mdi differences'
        " that are left; -p2 targets at a time. Default: -gb, in bulk.",
    ),
]
Spark = Annotated[
    str, typer.Option("--master", metavar="URL", help="Spark master, or sc://host:port of a Spark Connect server.")
]


def main(arguments: Sequence[str] | None = None, connections: Connections = environment_alone) -> None:
    """Entry point of `ddlrepl`; ends the process with the command's exit code.

    connections: where a channel's connections come from when they are not in the environment.
    """
    with connections_of(connections):
        app(args=None if arguments is None else list(arguments), prog_name="ddlrepl")


def _end(task: Callable[[], Result], as_json: bool, judge: Callable[[Any], Exit] = always_done) -> None:
    raise typer.Exit(perform(task, as_json=as_json, judge=judge))


def _version(wanted: bool) -> None:
    if wanted:
        from airflow_ddlrepl import __version__

        typer.echo(f"ddlrepl {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Everything in the log, and where an error happened.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if debug:
        os.environ["DDLREPL_DEBUG"] = "1"
    start_logging(logging.DEBUG if debug else logging.WARNING if quiet else logging.INFO)


@app.command()
def doctor(
    channel: Annotated[Path | None, typer.Argument(metavar="[CHANNEL.yaml]", help="Also check its source.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find what is broken here (versions, Java, Spark, drivers, rights on a source) and say how to mend it."""
    _end(lambda: commands.doctor(channel), as_json, lambda result: result.exit_code)


@app.command()
def check(channel: ChannelFile, as_json: AsJson = False) -> None:
    """Validate a channel file; warn about what in it does nothing. Connects to nothing."""
    _end(lambda: commands.check(channel), as_json)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a channel file."""
    _end(commands.schema, True)


@app.command()
def activate(
    channel: ChannelFile,
    refresh: Annotated[bool, typer.Option("--refresh/--no-refresh", help="Load tables that exist already.")] = True,
    enrollment: Known = "keep",
    start_moment: Start = "now",
    new_trail: Annotated[
        bool, typer.Option("--new-trail", help="The trail is lost: begin another one, and load every table again.")
    ] = False,
    master: Spark = "",
    as_json: AsJson = False,
) -> None:
    """Prepare the source, enroll its tables and load them. Again: changes nothing."""
    trail: TrailChoice = "new" if new_trail else "keep"
    how = partial(commands.activate, channel, refresh=refresh, enrollment=enrollment, start=start_moment)
    act = partial(how, trail=trail, spark=master)
    _end(act, as_json)


@app.command()
def replicate(channel: ChannelFile, until: Until = "", master: Spark = "", as_json: AsJson = False) -> None:
    """One cycle: everything that was committed before now is in every target afterwards."""
    _end(lambda: commands.replicate(channel, master, until), as_json)


@app.command()
def rewind(
    channel: ChannelFile,
    to: Annotated[str, typer.Option(metavar="MOMENT|POSITION", help="2026-11-21T08:00:00+00:00, or 0/16B3748.")],
    into: Into = "",
    table: Tables = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what it would do, and what it can't. Changes nothing.")
    ] = False,
    onward: Annotated[
        bool, typer.Option("--onward", help="Go on with a replay that has not come so far, instead of a new one.")
    ] = False,
    master: Spark = "",
    as_json: AsJson = False,
) -> None:
    """Build the tables as they were at an earlier moment, in a replay; or let a target go back and on again."""
    act = partial(commands.rewind, channel, to, into, table or [], only_plan=plan, onward=onward, spark=master)
    _end(act, as_json, commands.judge_rewind_plan if plan else always_done)


@app.command()
def plan(channel: ChannelFile, as_json: AsJson = False) -> None:
    """Show what adapt would do (exact SQL, hazards, rows to move). Changes nothing."""
    _end(lambda: commands.plan(channel), as_json)


@app.command()
def refresh(
    channel: ChannelFile,
    table: Tables = None,
    options: RefreshOptions = "",
    master: Spark = "",
    as_json: AsJson = False,
) -> None:
    """Load tables anew: those named (`--table "*.*"` is all) and those that wait for it."""
    _end(lambda: commands.refresh(channel, table or [], options, master), as_json)


@app.command()
def compare(
    channel: ChannelFile, table: Tables = None, repair: Repair = False, master: Spark = "", as_json: AsJson = False
) -> None:
    """Compare source and targets row by row. Exit code 1 when anything differs, or still does after a repair."""
    _end(lambda: commands.compare(channel, table or [], repair, master), as_json, commands.judge_comparison)


@app.command()
def status(channel: ChannelFile, as_json: AsJson = False) -> None:
    """Where the channel and its targets stand. Exit code 4 when a target does not answer."""
    _end(lambda: commands.status(channel), as_json, commands.judge_status)


@app.command()
def revisions(
    channel: ChannelFile,
    table: Tables = None,
    diff: Annotated[str, typer.Option(metavar="N..M", help="What became of one table from revision N to M.")] = "",
    as_json: AsJson = False,
) -> None:
    """Every shape that the channel's tables had, and from which position on."""
    _end(lambda: commands.revisions(channel, table or [], diff), as_json)


@app.command()
def errors(channel: ChannelFile, as_json: AsJson = False) -> None:
    """Errors that ended runs, newest first."""
    _end(lambda: commands.errors(channel), as_json)


@app.command()
def deactivate(channel: ChannelFile, as_json: AsJson = False) -> None:
    """Take everything of ours away from the source and forget the channel; the targets' tables stay."""
    _end(lambda: commands.deactivate(channel), as_json)


@controls.command("list")
def list_controls(
    channel: ChannelFile,
    removed: Annotated[bool, typer.Option("--removed", help="Also those that were removed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Controls that hold now."""
    _end(lambda: commands.controls(channel, removed=removed), as_json)


@controls.command("remove")
def remove_control(
    channel: ChannelFile,
    control: Annotated[int, typer.Argument(metavar="ID", help="As `ddlrepl controls` prints it.")],
    as_json: AsJson = False,
) -> None:
    """Remove a control after dealing with its reason: the next run goes on past it."""
    _end(lambda: commands.remove_control(channel, control), as_json)
