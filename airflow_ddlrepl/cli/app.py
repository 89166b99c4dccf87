"""This module defines the commands of `ddlrepl` and their options; what each does is in `cli/commands.py`."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from airflow_ddlrepl.cli import error_commands, exit_codes, init_channel, message_commands
from airflow_ddlrepl.cli.command import (
    ROWS,
    Accept,
    ChannelFile,
    ExtractFile,
    FromSnapshot,
    Into,
    Known,
    RefreshOptions,
    Repair,
    ReplicatFile,
    Side,
    Spark,
    Start,
    Tables,
    Until,
    command,
    lazily,
    put_off,
)
from airflow_ddlrepl.cli.open_channel import Connections, connections_of, environment_alone
from airflow_ddlrepl.cli.terminal import Result, perform, start_logging
from airflow_ddlrepl.config.sections.policies import TrailChoice
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.sql.dialect import Dialect

if TYPE_CHECKING:
    from airflow_ddlrepl.cli import commands, explain_ddl, rule_lists
else:
    commands = lazily("airflow_ddlrepl.cli.commands")
    explain_ddl = lazily("airflow_ddlrepl.cli.explain_ddl")
    rule_lists = lazily("airflow_ddlrepl.cli.rule_lists")
put_off(*ROWS)

NEW_OBJECTS = 500_000
"""After so many Python looks for garbage. Importing makes no garbage: to look for it takes a twentieth of a status."""


class ListFirst(TyperGroup):
    """This group of commands runs `list` when no command of the group is named, as in `ddlrepl controls FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert `list` when the first argument is no command of the group."""
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
imports = typer.Typer(no_args_is_help=True, help="Make channel files from other systems' definitions.")
app.add_typer(imports, name="import")
ddl = typer.Typer(no_args_is_help=True, help="What GoldenGate's parameters decide about DDL statements.")
app.add_typer(ddl, name="ddl")
rules = typer.Typer(no_args_is_help=True, help="What rules of Oracle Streams decide about changes.")
app.add_typer(rules, name="rules")
errors = typer.Typer(cls=ListFirst, help="Errors that ended runs; tables and transactions that wait because of one.")
app.add_typer(errors, name="errors")


def main(arguments: Sequence[str] | None = None, connections: Connections = environment_alone) -> None:
    """Run `ddlrepl` and end the process with the command's exit code.

    connections: how a channel's connections are made known to the command when they are not in the environment.
    """
    gc.set_threshold(NEW_OBJECTS)
    if connections is environment_alone:  # pydantic looks for plugins in everything that is installed: ours needs none
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    with connections_of(connections):
        app(args=None if arguments is None else list(arguments), prog_name="ddlrepl")


def _version(wanted: bool) -> None:
    if wanted:
        from airflow_ddlrepl import __version__

        typer.echo(f"ddlrepl {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress on standard error.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Log everything, and show where an error happened.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Replicate a database together with its schema changes."""
    if debug:
        os.environ["DDLREPL_DEBUG"] = "1"
    start_logging(logging.DEBUG if debug else logging.WARNING if quiet else logging.INFO)


@command(app, exit_code_of=lambda result: result.exit_code)
def doctor(
    channel: Annotated[
        Path | None, typer.Argument(metavar="[CHANNEL.yaml]", help="Also check this channel's servers.")
    ] = None,
) -> Result:
    """Find what is broken here (versions, Java, Spark, drivers, rights on a source) and say how to repair it."""
    return commands.doctor(channel)


@command(app)
def check(channel: ChannelFile) -> Result:
    """Validate a channel file, and warn about settings without effect. Connects to nothing."""
    return commands.check(channel)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a channel file."""
    raise typer.Exit(perform(commands.schema, as_json=True))


@command(app, takes_turns=True)
def activate(
    channel: ChannelFile,
    refresh: Annotated[bool, typer.Option("--refresh/--no-refresh", help="Load tables that exist already.")] = True,
    enrollment: Known = "keep",
    start_moment: Start = "now",
    new_trail: Annotated[
        bool, typer.Option("--new-trail", help="The trail is lost: begin another one, and load every table again.")
    ] = False,
    accept: Accept = "nothing",
    master: Spark = "",
) -> Result:
    """Prepare the source, enroll its tables and load them. Repeated, it changes nothing."""
    trail: TrailChoice = "new" if new_trail else "keep"
    return commands.activate(
        channel,
        refresh=refresh,
        enrollment=enrollment,
        start=start_moment,
        trail=trail,
        accept=accept,
        spark=master,
    )


@command(app, takes_turns=True)
def replicate(
    channel: ChannelFile,
    until: Until = "",
    now: Annotated[bool, typer.Option("--now", help="Apply to targets that wait by apply_every, too.")] = False,
    master: Spark = "",
) -> Result:
    """Run one cycle: everything that was committed before it started is in every target afterwards."""
    return commands.replicate(channel, master, until, applies_now=now)


@command(app, exit_code_of=exit_codes.judge_rewind, takes_turns=True)
def rewind(
    channel: ChannelFile,
    to: Annotated[str, typer.Option(metavar="MOMENT|POSITION", help="2026-11-21T08:00:00+00:00, or 0/16B3748.")],
    into: Into = "",
    table: Tables = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what the rewind would do, and what it can't. Changes nothing.")
    ] = False,
    onward: Annotated[
        bool, typer.Option("--onward", help="Go on with a replay of an earlier point, instead of building it again.")
    ] = False,
    master: Spark = "",
) -> Result:
    """Build tables as they were at an earlier moment in a replay, or let a target go back and forward again."""
    return commands.rewind(channel, to, into, table or [], only_plan=plan, onward=onward, spark=master)


@command(app)
def plan(channel: ChannelFile) -> Result:
    """Show what adapt would do (exact SQL, hazards, rows to move). Changes nothing."""
    return commands.plan(channel)


@command(app, takes_turns=True)
def refresh(
    channel: ChannelFile,
    table: Tables = None,
    options: RefreshOptions = "",
    from_snapshot: FromSnapshot = "",
    master: Spark = "",
) -> Result:
    """Load tables again: those named (`--table "*.*"` is all) and those that wait for it."""
    if from_snapshot:
        return commands.roll_back(channel, table or [], from_snapshot, options, master)
    return commands.refresh(channel, table or [], options, master)


@command(app, exit_code_of=exit_codes.judge_comparison, takes_turns=True)
def compare(channel: ChannelFile, table: Tables = None, repair: Repair = False, master: Spark = "") -> Result:
    """Compare source and targets row by row. Exit code 1 when anything differs that the log does not bring."""
    return commands.compare(channel, table or [], repair, master)


@command(app, exit_code_of=exit_codes.judge_maintenance, takes_turns=True)
def maintain(
    channel: ChannelFile,
    table: Tables = None,
    retain: Annotated[str, typer.Option(metavar="AGE", help="So long tables can be read as they were.")] = "5d",
    small_files: Annotated[str, typer.Option(metavar="N", help="So many small files become few.")] = "5",
    deleted_percent: Annotated[str, typer.Option(metavar="N", help="Of a file's rows: it is written again.")] = "10",
    master: Spark = "",
) -> Result:
    """Compact the tables of lakes, and remove old snapshots and files. Exit code 1 when a table had to be left."""
    how = {"retain": retain, "small_files": small_files, "deleted_percent": deleted_percent}
    return commands.maintain(channel, table or [], how, master)


@command(app, exit_code_of=exit_codes.judge_status)
def status(channel: ChannelFile) -> Result:
    """Show the positions of the channel and its targets. Exit code 4 when a target does not answer."""
    return commands.status(channel)


@command(app)
def revisions(
    channel: ChannelFile,
    table: Tables = None,
    diff: Annotated[
        str, typer.Option(metavar="N..M", help="Show how one table differs between revisions N and M.")
    ] = "",
) -> Result:
    """List every shape that the channel's tables had, and the position from which it was valid."""
    return commands.revisions(channel, table or [], diff)


for _name, _function in error_commands.COMMANDS.items():
    command(errors, _name, takes_turns=_name in ("retry", "delete"))(_function)


@command(app, exit_code_of=exit_codes.judge_cutover, takes_turns=True)
def cutover(
    channel: ChannelFile,
    do: Annotated[bool, typer.Option("--do", help="Switch over: a last cycle, then the channel stops.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Let a channel that is cut over go on.")] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare all tables, too, and look for rows that break foreign keys.")
    ] = False,
    headroom: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="With --do: set sequences N numbers ahead of the source's."),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE", help="Go on although this is missing; repeat it for more."),
    ] = None,
    master: Spark = "",
) -> Result:
    """Say what is missing for switching applications over to the targets (exit code 1), or switch over."""
    if do and undo:
        raise ConfigError("--do and --undo exclude each other", code="CUT-106", hint="choose one of them")
    if undo:
        return commands.undo_cutover(channel)
    if do:
        return commands.cut_over(channel, accept or [], compares=compare, headroom=headroom, spark=master)
    return commands.check_cutover(channel, compares=compare, spark=master)


@command(app, takes_turns=True)
def deactivate(channel: ChannelFile) -> Result:
    """Remove everything of ours from the source and forget the channel. The targets' tables stay."""
    return commands.deactivate(channel)


@command(controls, "list")
def list_controls(
    channel: ChannelFile,
    removed: Annotated[bool, typer.Option("--removed", help="Also list controls that were removed.")] = False,
) -> Result:
    """List the controls that hold now."""
    return commands.controls(channel, removed=removed)


@command(controls, "remove")
def remove_control(
    channel: ChannelFile,
    control: Annotated[int, typer.Argument(metavar="ID", help="As `ddlrepl controls` prints it.")],
) -> Result:
    """Remove a control after dealing with its reason; the next run goes on past it."""
    return commands.remove_control(channel, control)


@command(imports, "hvr", exit_code_of=exit_codes.judge_import)
def import_hvr(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="HVR's actions as text, or its exported JSON.")],
    output: Annotated[
        Path | None, typer.Option(metavar="CHANNEL.yaml", help="Write the channel file there; default: print it.")
    ] = None,
    channel: Annotated[str, typer.Option(metavar="NAME", help="Which channel, when the file has several.")] = "",
) -> Result:
    """Compile an HVR channel into a channel file, and list what it does not take. Exit code 1 when some is refused."""
    return commands.import_hvr(file, output, channel)


@command(imports, "goldengate", exit_code_of=exit_codes.judge_import)
def import_goldengate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE.prm…", help="Of an Extract, a Replicat, or both.")],
    check: Annotated[bool, typer.Option("--check", help="List what is not taken, and print no parameters.")] = False,
) -> Result:
    """Read GoldenGate's parameter files, and list what is not taken of them. Exit code 1 when some is refused."""
    return commands.import_goldengate(files, has_yaml=not check)


@command(ddl, "explain")
def explain(
    statement: Annotated[str, typer.Argument(metavar="STATEMENT", help="The DDL statement, in quotes.")],
    extract: ExtractFile = None,
    replicat: ReplicatFile = None,
    side: Annotated[Side | None, typer.Option(help="Only this side; without its file it takes everything.")] = None,
    dialect: Annotated[
        str, typer.Option(metavar="DIALECT[:TARGET]", help="How it is written: postgres, mysql or oracle.")
    ] = "postgres",
    schema: Annotated[str, typer.Option(metavar="NAME", help="Of names without a schema.")] = "public",
    error: Annotated[str, typer.Option(metavar="CODE", help="What the target answers: 42P07, or Oracle's 955.")] = "",
) -> Result:
    """Show what each stage of GoldenGate's Extract and Replicat does with a DDL statement. Connects to nothing."""
    record = explain_ddl.record_of(statement, dialect, schema)
    return explain_ddl.explain(record, explain_ddl.Files(extract, replicat, side), error)


@command(ddl, "trail")
def explain_trail(
    channel: ChannelFile,
    at: Annotated[str, typer.Option(metavar="POSITION", help="Only there, with every stage.")] = "",
) -> Result:
    """Show what became of the DDL statements in a channel's trail, by GoldenGate's Extract and each Replicat."""
    return commands.explain_trail(channel, at)


@command(imports, "streams", exit_code_of=exit_codes.judge_import)
def import_streams(
    file: Annotated[Path, typer.Argument(metavar="FILE.sql", help="A script that calls DBMS_STREAMS_ADM.")],
    check: Annotated[bool, typer.Option("--check", help="List what is not taken, and print no rules.")] = False,
) -> Result:
    """Read a SQL script that sets up Oracle Streams, and list what is not taken. Exit code 1 when some is refused."""
    return commands.import_streams(file, has_yaml=not check)


@command(rules, "explain", exit_code_of=exit_codes.judge_import)
def explain_rules(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A SQL script, or YAML with the section `streams`.")],
    change: Annotated[str, typer.Option(metavar="JSON", help="A row change, DDL or a message.")] = "",
    statement: Annotated[str, typer.Option(metavar="STATEMENT", help="Or a DDL statement, in quotes.")] = "",
    client: Annotated[str, typer.Option(metavar="NAME", help="Only this client; default: all.")] = "",
    dialect: Annotated[Dialect, typer.Option(help="How names and statements are written.")] = Dialect.ORACLE,
    schema: Annotated[str, typer.Option(metavar="NAME", help="Of names without a schema in a statement.")] = "",
    source: Annotated[str, typer.Option(metavar="NAME", help="The database that the change comes from.")] = "",
) -> Result:
    """Show which rules are true for a change, part by part of their conditions. Connects to nothing."""
    return commands.explain_rules(
        file, change=change, statement=statement, client=client, dialect=dialect, schema=schema, source=source
    )


@command(rules, "list")
def list_rules(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A SQL script, or YAML with the section `streams`.")],
    dialect: Annotated[Dialect, typer.Option(help="How names are written.")] = Dialect.ORACLE,
) -> Result:
    """List the rules of each client with their transformations and custom functions. Connects to nothing."""
    return rule_lists.list_rules(file, dialect)


@command(rules, "unsupported")
def unsupported(channel: ChannelFile) -> Result:
    """List the tables whose rows a client never gets, with the reason, and whether its rules ask for them."""
    return rule_lists.list_unsupported(channel)


message_commands.add_to(app)
init_channel.add_to(app)
