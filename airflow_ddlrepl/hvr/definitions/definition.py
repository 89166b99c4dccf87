"""This module defines the values that an HVR channel's definition is read into: groups, tables, actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_ddlrepl.errors import ConfigError

ALL = "*"


@dataclass(frozen=True, slots=True)
class HvrAction:
    """An action is one line of a definition: what is set, where, for which tables.

    line: of the file. locations, tables: HVR's scopes, a name or `*`. values: by parameter; None: a flag.
    """

    line: int
    name: str
    values: Mapping[str, str | None]
    locations: str = ALL
    tables: str = ALL
    channel: str = ALL


@dataclass(frozen=True, slots=True)
class HvrTable:
    """A table of a channel: base_name is its name in the databases, group HVR's table group.

    has_columns: the definition lists its columns.
    """

    base_name: str
    group: str = ""
    has_columns: bool = False


@dataclass(frozen=True, slots=True)
class HvrDefinition:
    """A definition is what HVR knows of one channel.

    name: empty in a text that does not name it. groups: the locations of each location group. tables: by HVR's name of
    the table; None: the file does not list them.
    """

    name: str
    actions: tuple[HvrAction, ...]
    groups: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, HvrTable] | None = None


class Problems(Exception):
    """This error holds what is wrong with a definition, each with the line of the file."""

    def __init__(self, found: list[tuple[int, str]]) -> None:
        super().__init__(found)
        self.found = found

    def as_config_error(self, file: str) -> ConfigError:
        """Return the error that a person gets, with every problem as FILE:LINE."""
        lines = [f"{file}:{line}: {text}" for line, text in sorted(set(self.found))]
        head = "" if len(lines) == 1 else f"{len(lines)} problems\n"
        return ConfigError(head + "\n".join(lines), code="CFG-141", hint="docs/hvr.md, Importing, shows what is read")
