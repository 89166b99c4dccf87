"""This module checks the options of a change feed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.environment import home
from airflow_ddlrepl.notation.suggestion import nearest

OLDEST, NOW = "oldest", "now"
MERGED, REVISION = "merged", "revision"
_KNOWN = ("channel", "table", "table_id", "start", "end", "columns", "schema", "revision", "before_prefix")


@dataclass(frozen=True, slots=True)
class FeedOptions:
    """The options of a change feed say of which table, from where to where, and in which shape.

    start: `oldest`, `now`, a position or a moment; end: one of the last two or "", which is all that is captured.
    columns: names of those wanted; none: all. revision: the one that is wanted; None: the columns of all are merged.
    table_id: of the table, where several tables had the name.
    """

    channel: Path
    table: TableName
    table_id: int | None = None
    start: str = OLDEST
    end: str = ""
    columns: tuple[str, ...] = ()
    is_merged: bool = True
    revision: int | None = None
    before_prefix: str = "before_"


def read_options(options: Mapping[str, str]) -> FeedOptions:
    """Return the options of a change feed from texts by name. Raises TrailError TRL-120."""
    values = {name.lower(): str(value).strip() for name, value in options.items()}
    if unknown := [name for name in values if name not in _KNOWN and name != "path"]:
        raise _wrong(f"the change feed has no option {unknown[0]!r}", nearest(unknown[0], _KNOWN))
    for name in ("channel", "table"):
        if not values.get(name):
            raise _wrong(f"the change feed lacks the option {name!r}", "give the channel's file and schema.table")
    schema, dot, name = values["table"].partition(".")
    if not dot:
        raise _wrong(f"{values['table']!r} is not the name of a table", "write schema.table, as in public.orders")
    shape = values.get("schema", MERGED)
    if shape not in (MERGED, REVISION):
        raise _wrong(f"schema {shape!r} is unknown", f"it is {MERGED} or {REVISION}")
    return FeedOptions(
        _file(values["channel"]),
        TableName(schema, name),
        _number(values, "table_id"),
        values.get("start", OLDEST),
        values.get("end", ""),
        tuple(c for c in (one.strip() for one in values.get("columns", "").split(",")) if c),
        shape == MERGED,
        _number(values, "revision"),
        values.get("before_prefix", "before_"),
    )


def _number(values: Mapping[str, str], name: str) -> int | None:
    if name not in values:
        return None
    if not values[name].isdecimal():
        raise _wrong(f"{name} {values[name]!r} is not a number", "")
    return int(values[name])


def _file(channel: str) -> Path:
    """Return a channel's file: a path, or the name of a file in the folder DDLREPL_HOME."""
    given = Path(channel)
    if not given.is_file() and given.name == channel:
        for suffix in ("", ".yaml", ".yml"):
            if (home() / f"{channel}{suffix}").is_file():
                return home() / f"{channel}{suffix}"
    return given.absolute()


def _wrong(message: str, hint: str) -> TrailError:
    return TrailError(message, code="TRL-120", hint=hint or "docs/change_feed.md lists the options")
