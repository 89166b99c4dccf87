"""What a channel file is proposed from comes from options, and from questions where a person sits at a terminal."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click

from airflow_ddlrepl.cli.propose.secrets import Location, lacks_password, without_secrets
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.notation.name_pattern import table_patterns

OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_TARGET_NAME = "target"
_PLACE = "URL (postgresql://user@host:5432/database) or Airflow connection id"


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers are what a person said. tables: patterns; empty: all tables. is_overwriting: an existing file goes."""

    file: Path
    channel: str
    source: Location
    target: Location
    tables: tuple[str, ...] = ()
    is_overwriting: bool = False


def is_asking() -> bool:
    """Return whether a person can be asked: standard input and standard error are terminals."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def answers(
    file: Path | None, source: str, target: str, channel: str, tables: list[str], *, is_overwriting: bool
) -> Answers:
    """Return the answers; what no option says is asked for at a terminal.

    Raises ConfigError CFG-150 for what is missing elsewhere, CFG-151 for a file that is there, CFG-152 for one that
    can't be written, CFG-153 where a person interrupts a question, CFG-112 for a pattern that is none.
    """
    asks = is_asking()
    try:
        return _answered(file, source, target, channel, tables, asks=asks, is_overwriting=is_overwriting)
    except click.Abort:
        raise ConfigError("a question was not answered; no file is written", code="CFG-153") from None


def _answered(
    file: Path | None, source: str, target: str, channel: str, tables: list[str], *, asks: bool, is_overwriting: bool
) -> Answers:
    source = source or _ask("source", f"Source: {_PLACE}", asks)
    secret = _password("source", source, asks)
    target = target or _ask("target", f"Target: {_PLACE}", asks)
    secret_there = _password("target", target, asks)
    name = channel or _name(file.stem if file else database(source))
    if asks and not channel and file is None:
        name = _name(click.prompt("Name of the channel", default=name, err=True))
    if asks and not tables:
        patterns = click.prompt('Tables, as schema.table patterns ("*.*": all)', default="*.*", err=True)
        tables = [] if patterns == "*.*" else patterns.replace(",", " ").split()
    path = file or Path(f"{name}.yaml")
    if asks and path.exists() and not is_overwriting:
        is_overwriting = click.confirm(f"{path} exists. Overwrite it?", err=True)
    _require_place(path, is_overwriting=is_overwriting)
    return Answers(
        path,
        name,
        without_secrets(source, name, "source", secret),
        without_secrets(target, name, "target", secret_there),
        tuple(table_patterns(tables)),
        is_overwriting,
    )


def database(location: str) -> str:
    """Return the name of the database that a URL names; of a connection, its id."""
    if "://" not in location:
        return location.removesuffix("_db")
    return unquote(urlsplit(location).path.lstrip("/")) or "channel"


def target_name(location: str) -> str:
    """Return a name for the target in the channel file."""
    found = OTHER.sub("_", database(location)).strip("_")
    return found if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,39}", found) else _TARGET_NAME


def _ask(option: str, question: str, asks: bool) -> str:
    if asks:
        return str(click.prompt(question, err=True)).strip()
    raise ConfigError(
        f"--{option} is missing, and nobody can be asked: this is no terminal",
        code="CFG-150",
        hint="ddlrepl init shop.yaml --source 'postgresql://app:${APP_PASSWORD}@host/shop' --target …",
    )


def _password(place: str, location: str, asks: bool) -> str:
    """Ask for the password of a URL that has none; it may be in a file of libpq's, or not be needed."""
    if not asks or not lacks_password(location) or os.environ.get("PGPASSWORD"):
        return ""
    question = f"Password of the {place} (empty: none is needed, or ~/.pgpass has it)"
    return str(click.prompt(question, default="", hide_input=True, show_default=False, err=True))


def _name(text: str) -> str:
    """Return a channel's name made of a text."""
    found = OTHER.sub("_", text).strip("_-")[:40]
    return found if re.match(r"[A-Za-z]", found) else f"channel_{found}"[:40].rstrip("_")


def _require_place(path: Path, *, is_overwriting: bool) -> None:
    if path.exists() and not is_overwriting:
        hint = "give another name, or --force to overwrite it"
        raise ConfigError(f"{path} is there already", code="CFG-151", hint=hint)
    if not path.absolute().parent.is_dir():
        hint = f"mkdir -p {path.absolute().parent}"
        raise ConfigError(f"{path.absolute().parent} is no folder", code="CFG-152", hint=hint)
