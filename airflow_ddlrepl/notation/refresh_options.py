"""This module reads HVR's refresh options, one line of text such as `-gr -v -mdi`: how a table is loaded again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from airflow_ddlrepl.errors import ConfigError


class Granularity(StrEnum):
    """A granularity says how a refresh writes: BULK loads every row, ROW writes the differences only."""

    BULK = "b"
    ROW = "r"


class Difference(StrEnum):
    """A difference is how a target's table differs in one row, named by the statement that repairs it."""

    DELETE = "d"
    UPDATE = "u"
    INSERT = "i"


@dataclass(frozen=True, slots=True)
class RefreshOptions:
    """Refresh options say how a refresh loads tables.

    is_verbose: each difference is logged as SQL. fires: the target's own triggers and rules fire. mask: kinds of
    difference that are not repaired. targets: how many targets are loaded at a time. isolates: capture, and the changes
    of other tables, go on meanwhile. context: conditions of `restrict` for refreshes in this context hold.
    """

    granularity: Granularity = Granularity.BULK
    is_verbose: bool = False
    fires: bool = False
    mask: frozenset[Difference] = frozenset()
    targets: int = 1
    isolates: bool = False
    context: str = ""

    @property
    def is_by_row(self) -> bool:
        """Return whether only differing rows are written."""
        return self.granularity is Granularity.ROW

    def __str__(self) -> str:
        """Return the options as text that `read_options` reads."""
        words = [f"-g{self.granularity}", "-v" if self.is_verbose else "", "-f" if self.fires else ""]
        words += ["-m" + "".join(kind for kind in Difference if kind in self.mask) if self.mask else ""]
        words += [f"-p{self.targets}" if self.targets > 1 else "", "-inow" if self.isolates else ""]
        words += [f"-C{self.context}" if self.context else ""]
        return " ".join(word for word in words if word)


BULK = RefreshOptions()
ISOLATING = RefreshOptions(isolates=True)
BY_ROW = RefreshOptions(Granularity.ROW)
_KNOWN = "-gb, -gr, -v, -f, -m with letters of diu, -p with a number, -inow, -C with a context"


def read_options(text: str) -> RefreshOptions:
    """Parse refresh options, option letters separated by spaces; an empty text is a bulk load.

    Raises ValueError when an option is unknown or the options don't fit together.
    """
    found: dict[str, Any] = {}
    for word in text.split():
        letter, value = word[:2], word[2:]
        if letter not in _READ:
            raise ValueError(f"there is no refresh option {word}; known: {_KNOWN}")
        key, read = _READ[letter]
        if key in found:
            raise ValueError(f"refresh option {letter} is given twice")
        found[key] = read(word, value)
    if found.get("granularity") is not Granularity.ROW:
        for letter in ("-v", "-f", "-m"):
            if _READ[letter][0] in found:
                raise ValueError(f"refresh option {letter} needs -gr: a bulk load does not look at single differences")
    return RefreshOptions(**found)


def options_for(tables: Sequence[str], text: str) -> RefreshOptions:
    """Parse the refresh options that a person typed for the tables they named.

    Raises ConfigError CFG-136 when they can't be parsed, CFG-137 when no table is named.
    """
    try:
        options = read_options(text)
    except ValueError as error:
        raise ConfigError(str(error), code="CFG-136", hint='write them as one text: --options "-gr -v"') from None
    if text.strip() and not tables and options != ISOLATING:
        raise ConfigError(
            "refresh options hold for the tables that are named, and none is",
            code="CFG-137",
            hint='add --table "*.*" for all; tables that wait are loaded as `refresh_options` in the channel file say',
        )
    return options


def parse_snapshot(text: str, tables: Sequence[str], options: str) -> int | None:
    """Return the id of the snapshot that a person typed for the tables they named; None: the newest one.

    Raises ConfigError CFG-136 for a text that is no id, or beside options of a load, CFG-137 when no table is named.
    """
    if options.strip():
        raise ConfigError("a roll back loads nothing", code="CFG-136", hint="leave out --options or --from-snapshot")
    if not tables:
        raise ConfigError("no table is named", code="CFG-137", hint="name one by --table schema.table")
    if text != "newest" and not text.isdecimal():
        raise ConfigError(
            f"{text} is no snapshot of a table",
            code="CFG-136",
            hint="write the id of one (`SELECT snapshot_id FROM lake.schema.table.snapshots`), or newest",
        )
    return None if text == "newest" else int(text)


def _granularity(word: str, value: str) -> Granularity:
    if value not in ("b", "r"):
        raise ValueError(f"there is no granularity {word}: -gb loads in bulk, -gr row by row")
    return Granularity(value)


def _flag(word: str, value: str) -> bool:
    if value:
        raise ValueError(f"refresh option {word[:2]} takes no value ({word}); options are separated by spaces")
    return True


def _mask(word: str, value: str) -> frozenset[Difference]:
    if not value or set(value) - set(Difference) or len(set(value)) < len(value):
        raise ValueError(f"{word} is not a mask: -m takes each of d, i, u (deletes, inserts, updates) at most once")
    return frozenset(Difference(letter) for letter in value)


def _targets(word: str, value: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,3}", value):
        raise ValueError(f"{word} is not a number of targets: write -p2, up to 9999")
    return int(value)


def _isolate(word: str, value: str) -> bool:
    if value not in ("", "now"):
        raise ValueError(f"{word} is no time to isolate a table at: -inow, or -i, is the only one")
    return True


def _context(word: str, value: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", value):
        raise ValueError(f"{word} is no context: write one as in the channel file, such as -Cnightly")
    return value


_READ = {
    "-g": ("granularity", _granularity),
    "-v": ("is_verbose", _flag),
    "-f": ("fires", _flag),
    "-m": ("mask", _mask),
    "-p": ("targets", _targets),
    "-i": ("isolates", _isolate),
    "-C": ("context", _context),
}
