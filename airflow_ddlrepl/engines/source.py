"""The port of a source: what the stages ask of a database whose changes they capture, whichever engine it is of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from airflow_ddlrepl.config.condition.expression import Part as Condition
from airflow_ddlrepl.model.lineage import Lineage
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.visibility import Visibility
from airflow_ddlrepl.ports.rows import RowSource
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.trail.loads import LoadedTable
from airflow_ddlrepl.trail.manifest import Part
from airflow_ddlrepl.transform.values import Transform


@dataclass(frozen=True, slots=True)
class Activation:
    """What an activation found and did at the source.

    position: from here on the log can be read. changes: what was done, for people; empty when all stood already.
    is_new: what happened before has to come by a refresh. has_triggers: the log tells of schema changes; else shapes
    are compared. is_restored: the log could not be read any more, and can be again without a gap: it was retained.
    """

    position: Position
    changes: tuple[str, ...]
    is_new: bool
    has_triggers: bool
    is_restored: bool


@dataclass(frozen=True, slots=True)
class Catalog:
    """The catalog at one moment. version: changes with any table's shape. tables: None when the version was expected.

    locked: ids of tables that an open transaction is altering; their shapes are not among `tables`.
    """

    version: str
    tables: list[Table] | None
    locked: frozenset[int]
    seen: Visibility


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that the source lacks. fix: the statement that gives it."""

    what: str
    fix: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A table of the channel whose rows are not in the log. since: a position of the log; None: not known.

    is_reloaded: no log can bring it, whatever anybody does but give it a key: it is loaded whole, again and again.
    """

    table_id: int
    name: TableName
    why: str
    since: Position | None = None
    is_reloaded: bool = False

    def __str__(self) -> str:
        return f"{self.why}{'' if self.since is None else f' (since {self.since})'}"


@dataclass(frozen=True, slots=True)
class LogWindow:
    """A part of the log to write into a trail, as files that no manifest names yet.

    trail_url, channel, epoch, token: whose files. tables: their shapes as far as they are known. timeline: of the log,
    as the run began with; 0: any. is_retained: read the log that is retained, not what capture has yet to acknowledge.
    as_text: do not ask for binary values. no_truncate: a TRUNCATE makes no change, only a note.
    """

    low: Position
    high: Position
    trail_url: str = field(repr=False)
    channel: str
    epoch: int
    token: int
    tables: Sequence[Table]
    timeline: int = 0
    parallelism: int = 1
    is_retained: bool = False
    as_text: bool = False
    no_truncate: bool = False


@dataclass(frozen=True, slots=True)
class RowSelection:
    """What is read of a table: these columns, in this order, of the rows that a condition is true for.

    condition: None: all rows. transform: what gives values of them.
    """

    table: Table
    columns: tuple[str, ...]
    condition: Condition | None = None
    transform: Transform | None = None


@dataclass(frozen=True, slots=True)
class ArchivePlace:
    """Where in a trail the rows of a snapshot are kept. folder: relative to the trail of the channel."""

    trail_url: str = field(repr=False)
    channel: str
    folder: str


class SourceSnapshot(Protocol):
    """Rows of some tables as of one moment, readable by several tasks for as long as it is open."""

    @property
    def snapshot(self) -> Visibility:
        """Return which transactions the rows contain."""
        ...

    @property
    def tables(self) -> tuple[Table, ...]:
        """Return the tables that are still there, with their shapes at that moment."""
        ...

    @property
    def sizes(self) -> Mapping[int, int]:
        """Return how many bytes each table takes, by id."""
        ...

    def chunks(self, selection: RowSelection, most: int) -> Sequence[RowSource]:
        """Return row sources that give each selected row once, of about `most` bytes each; at least one."""
        ...

    def archive(self, tables: Sequence[Table], place: ArchivePlace, runner: Runner) -> tuple[LoadedTable, ...]:
        """Write the rows of these tables into a trail."""
        ...


class Membership(Protocol):
    """Which tables' rows are in the log: for sources that must be told what to log."""

    def published(self) -> set[int]:
        """Return ids of the tables whose rows are in the log."""
        ...

    def unpublished_reasons(self) -> dict[int, tuple[TableName, str]]:
        """Return the tables of the channel whose rows are not in the log, by id: name and why."""
        ...

    def left_out(self) -> list[LeftOut]:
        """Return the tables of the channel whose rows are not in the log now, by name."""
        ...

    def members(self) -> set[int]:
        """Return ids of the tables that are in the channel, with their rows or without."""
        ...

    def bystanders(self) -> set[int]:
        """Return ids of tables that are not in the channel, though a new one of that name would be: they are older."""
        ...

    def waiting(self) -> list[TableName]:
        """Return the tables that `publish_late` could not publish."""
        ...

    def late(self) -> set[int]:
        """Return ids of tables whose first rows the log lacks, and that `forget_late` has not been given yet."""
        ...

    def has_late(self) -> bool:
        """Would `publish_late` have anything to do?"""
        ...

    def publish_late(self) -> set[int]:
        """Publish tables that could not be before; return ids of `late`, with those that were published now."""
        ...

    def forget_late(self, table_ids: Set[int]) -> None:
        """Take note that these tables wait for a refresh, durably. They may be more than those of `late`."""
        ...

    def tend(self) -> dict[int, str]:
        """Publish new tables that nothing has announced; return what became of each.

        "published", "filled" (has rows from before), "tracked" or "left out".
        """
        ...

    def settle(self) -> None:
        """Wait until no transaction is open that began before a table was published: its rows are not in the log.

        Raises SourceError SRC-120 when one stays open for too long.
        """
        ...

    def feed_id(self) -> int | None:
        """Return the id of the feed that an administrator made by hand; None where the channel itself keeps it."""
        ...


class RetainedLog(Protocol):
    """Log that the source retains although it has been captured, so that it can be read once more."""

    def hold(self, since: Position) -> None:
        """Retain what commits from there on; what is older may go."""
        ...

    def held_from(self) -> Position | None:
        """Return from where on log is retained; None when it is not."""
        ...

    def release(self) -> None:
        """Let the source forget what is captured."""
        ...


class SourceCatalog(Protocol):
    """The tables that a source has, as it knows them now."""

    def inspect(self, table_ids: Collection[int]) -> list[Table]:
        """Return the shapes of those of these tables that are there."""
        ...

    def inspect_catalog(self, known: str) -> Catalog:
        """Return every table's shape but of those that an open transaction is altering, unless the version is known."""
        ...

    def list_tables(self) -> dict[int, TableName]:
        """Return ids and names of all tables that could be in a channel, by name."""
        ...

    def with_partitions(self, table_ids: Collection[int]) -> dict[int, TableName]:
        """Return those of these tables that are there, and the partitions of the partitioned ones, by id."""
        ...

    def sizes(self, table_ids: Collection[int]) -> Mapping[int, int]:
        """Return what the tables take on disk, in bytes; nothing where one of them is locked."""
        ...

    def estimated_rows(self, names: Collection[TableName]) -> Mapping[TableName, int]:
        """Return what the source's statistics say of these tables; 0 where they say nothing."""
        ...

    def publishes_generated(self) -> bool:
        """Are values of generated columns in the log?"""
        ...

    def check_condition(self, condition: Condition, table: Table, columns: Sequence[Column]) -> None:
        """Raises Unsupported ADP-148 when the source can't read a condition that looks at these columns."""
        ...


class Source(Protocol):
    """A channel's source. It connects when it is asked something, and `close` ends that."""

    @property
    def membership(self) -> Membership:
        """Which tables' rows are in the log."""
        ...

    @property
    def retained_log(self) -> RetainedLog:
        """The log that is retained although it is captured."""
        ...

    @property
    def catalog(self) -> SourceCatalog:
        """The tables that the source has."""
        ...

    def describe(self) -> str:
        """Return where the source is, without its password."""
        ...

    def identity(self) -> str:
        """Return a text that is the same after a restart or a fail-over, and another one for another database."""
        ...

    def database(self) -> str:
        """Return a text that only a connection to this very database and run of its server returns, too."""
        ...

    def server_run(self) -> str:
        """Return a text that is another one after a restart, a fail-over or a recovery. Raises SourceError SRC-113."""
        ...

    def lineage(self, server_run: str) -> Lineage:
        """Return which timelines the log of this run of the server went through."""
        ...

    def clock(self) -> datetime:
        """Return the moment now, as transactions that commit here are stamped with."""
        ...

    def log_end(self) -> Position:
        """Return where the log on disk ends."""
        ...

    def stable_end(self) -> Position:
        """Return a position that every transaction committed before this call lies before, readable at once."""
        ...

    def has_changes(self, low: Position, high: Position) -> bool:
        """Did a transaction with something for this channel commit in [low, high)? Yes, where that is not known."""
        ...

    def require_readable(self, low: Position, feed: int | None) -> None:
        """Raises SourceError when the log can't be read from there on without loss. feed: as `feed_id` told before."""
        ...

    def require_log(self, low: Position) -> None:
        """Raises SourceError SRC-115: the log that was captured is not this server's (any more)."""
        ...

    def capture(self, window: LogWindow, runner: Runner) -> list[Part]:
        """Write a window of the log into its trail; the files count once a manifest names them."""
        ...

    def acknowledge(self, upto: Position) -> None:
        """Let the source forget what commits before this position, which must be safe in the trail."""
        ...

    def missing_rights(self) -> list[Problem]:
        """Return what the role lacks for an activation, and for the runs after it."""
        ...

    def activation_blockers(self, seconds: float) -> list[Problem]:
        """Return what an activation would wait for, each with how to end it. seconds: open for so long already."""
        ...

    def activate(self, *, again: bool, low: Position | None) -> Activation:
        """Prepare the source. A second time: changes nothing.

        again: from a new position, whatever was there. low: where the channel goes on.
        """
        ...

    def deactivate(self) -> list[str]:
        """Remove all that `activate` has made; return it, for people."""
        ...

    def snapshot(self, table_ids: Sequence[int], timeline: int) -> AbstractContextManager[SourceSnapshot]:
        """Open a snapshot in which nobody can alter, truncate or drop these tables. timeline: as in LogWindow."""
        ...

    def archived(self, trail_url: str, channel: str, loaded: LoadedTable) -> Sequence[RowSource]:
        """Return the chunks of a table that `SourceSnapshot.archive` has written into a trail. Nothing is asked."""
        ...

    def rows(self, selection: RowSelection) -> RowSource:
        """Return what gives the selected rows of a whole table, as they are when it is read."""
        ...

    def close(self) -> None:
        """End the connection; the next question opens another one."""
        ...
