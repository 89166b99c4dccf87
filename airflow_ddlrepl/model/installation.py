"""This module defines what a channel has set up at its source, as somebody may have changed it since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem is something that the source lacks.

    what: in words. fix: the statement that provides it.
    """

    what: str
    fix: str


@dataclass(frozen=True, slots=True)
class ServerProfile:
    """A server profile says what kind of server a source is, and as whom it is read.

    version: as the server spells it. log: how it writes its log. is_administrator: the role has every right.
    """

    version: str
    log: str
    role: str
    is_administrator: bool


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A published table is one whose rows are in the log.

    entry: another one once the table was taken out and put back. lacks: what the log does not have of it.
    """

    entry: str
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed is what the source writes of the channel's tables into its log.

    version: another one once an option of it was changed, be it back. tables: those whose rows are in the log, by id.
    is_recorded: the log has a record of the last change of an option, and of all before it.
    """

    version: str
    tables: Mapping[int, PublishedTable] = field(default_factory=dict)
    is_recorded: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class SessionNames:
    """This is what has the log name the sessions whose changes are ignored, triggers of each table, say.

    condition: which sessions, as a digest. versions: by table; another one once somebody has changed it, be it back;
    empty: the table's changes do not name them.
    """

    condition: str
    versions: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Installation:
    """An installation is what a channel has set up at its source, as it is now.

    versions: of each object, by name: another one once somebody has changed the object, be it back. problems: what is
    missing, switched off, or not as it was set up. feed: None: there is none.
    """

    versions: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    feed: Feed | None = None


@dataclass(frozen=True, slots=True)
class LogHolder:
    """A log holder is what makes a source retain its log for the channel: a replication slot, say.

    bytes: of log that it retains. state: the server's word for it. left: bytes until the server removes log that it
    needs; None: it does not. problem, fix: what is wrong with it; empty: nothing.
    """

    name: str
    bytes: int | None = None
    state: str = ""
    left: int | None = None
    problem: str = ""
    fix: str = ""
