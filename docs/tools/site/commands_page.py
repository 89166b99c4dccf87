"""Write the page of the commands of `ddlrepl`, with their arguments and options, from the command line itself."""

from __future__ import annotations

from collections.abc import Iterator
from enum import EnumType
from typing import Any, Literal, get_args, get_origin

from typer.main import get_command

from airflow_ddlrepl.cli.app import app

INTRODUCTION = """\
# Commands

`ddlrepl` runs everything without Airflow; `airflow ddlrepl …` runs the same commands with Airflow's connections.
`ddlrepl COMMAND --help` prints what stands here.
"""
_BRACES = {ord("{"): None, ord("}"): None}


def page() -> str:
    """Return the page as Markdown."""
    group: Any = get_command(app)
    context = group.make_context("ddlrepl", [], resilient_parsing=True)
    start = [INTRODUCTION, f"{group.epilog}\n", "## For every command\n", *_options(group, context)]
    return "\n".join([*start, *_commands(group, context, "ddlrepl")])


def _commands(group: Any, context: Any, path: str) -> Iterator[str]:
    for name, command in group.commands.items():
        full = f"{path} {name}"
        inner = type(context)(command, info_name=name, parent=context)
        if hasattr(command, "commands"):
            yield f"## {full}\n"
            yield f"{_text(command.help)}\n"
            yield from _commands(command, inner, full)
            continue
        yield f"{'##' if path == 'ddlrepl' else '###'} {full}\n"
        yield f"{_text(command.help)}\n"
        usage = " ".join(command.collect_usage_pieces(inner))
        yield f"```text\n{full} {usage.translate(_BRACES).replace('[[', '[').replace(']]', ']')}\n```\n"
        yield from _options(command, inner)


def _options(command: Any, context: Any) -> Iterator[str]:
    rows = [found for one in command.get_params(context) if (found := _row(one))]
    if rows:
        yield "| Argument or option | Default | Meaning |"
        yield "|---|---|---|"
        yield from rows
        yield ""


def _row(one: Any) -> str:
    if getattr(one, "hidden", False) or one.name == "help":
        return ""
    if one.param_type_name == "argument":
        return f"| `{_value(one)}` |  | {_cell(one.help or '')} |"
    names = ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))
    kind = "" if one.is_flag else f" `{_value(one)}`"
    return f"| {names}{kind} | {_default(one)} | {_cell(one.help or '')} |"


def _value(one: Any) -> str:
    """Return what a person writes for an argument or an option: its name in capitals, or the words to choose from."""
    kind = one.type_descriptor.annotation
    choices = list(kind) if isinstance(kind, EnumType) else get_args(kind) if get_origin(kind) is Literal else ()
    words = "|".join(str(getattr(word, "value", word)) for word in choices)
    return _cell(one.metavar or words or one.name.upper())


def _default(one: Any) -> str:
    value = getattr(one.default, "value", one.default)
    return "" if one.is_flag or callable(value) or value in (None, "", (), []) else f"`{value}`"


def _text(text: str | None) -> str:
    """Return a help text as Markdown; the paragraphs of a docstring stay apart."""
    return "\n\n".join(_cell(" ".join(part.split())) for part in (text or "").split("\n\n"))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
