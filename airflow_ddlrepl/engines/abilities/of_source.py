"""These are abilities of a source, beside those that have a port of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from airflow_ddlrepl.engines.ability import Ability, Lack
from airflow_ddlrepl.engines.source_catalog import Archived, ArchivePlace, SourceSnapshot
from airflow_ddlrepl.model.installation import LogHolder
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.rows import RowSource
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.trail.loads import LoadedTable


@dataclass(frozen=True, slots=True)
class Writer:
    """A writer is a session, or a prepared transaction, that has written at the source and may commit, or just did.

    who: process, user, application, and since when, in words. query: its last statement; empty: not known.
    end: the statement that ends it. unseen: what the channel's role lacks to see the query; empty: nothing.
    """

    who: str
    query: str
    end: str
    unseen: str = ""

    def __str__(self) -> str:
        return f"{self.who}: {self.query}" if self.query else self.who


class ShowsWriters(Ability, ABC):
    """A source shows writers where it says who has written and has not committed yet."""

    lack = Lack("does not show who writes", "stop the applications, then accept CUT-111")

    @abstractmethod
    def writers(self, seconds: float = 0) -> list[Writer]:
        """Return who has written in this database and has not committed yet.

        seconds: also the sessions that ran a statement in the last so many seconds, which may have written.
        """


class IgnoresSessions(Ability):
    """A source ignores sessions where its log names the sessions whose changes no target gets."""

    lack = Lack("does not name the sessions of its changes", "take `ignore_sessions` out of `capture`")


class FeedsQueues(Ability):
    """A source feeds queues where its log can be read for the capture processes of Streams."""

    lack = Lack("is not read for queues", "take the clients that capture out of `streams`")


class RetainedLog(Protocol):
    """The retained log is log that a source retains although it is captured, so that it can be read again."""

    def holders(self) -> list[LogHolder]:
        """Return what retains log for the channel, the one that captures read first, also where it is missing."""
        ...

    def hold(self, since: Position) -> None:
        """Retain what commits from a position on; the source may forget what is older."""
        ...

    def held_from(self) -> Position | None:
        """Return the position from which on log is retained; None when none is."""
        ...

    def release(self) -> None:
        """Let the source forget all log that has been captured."""
        ...


class RetainsLog(Ability, ABC):
    """A source retains log where captured log can be read again from it."""

    lack = Lack("does not retain log that is captured", "take `hold_log` and `limits: retained_log_bytes` out")

    @property
    @abstractmethod
    def retained_log(self) -> RetainedLog:
        """Return the log that the source retains although it is captured."""


class ArchivesRows(Ability, ABC):
    """A source archives rows where its snapshots can be written into a trail, and read from there without it."""

    lack = Lack("does not archive its rows in a trail", "take `rewind_horizon` out")

    @abstractmethod
    def archive(self, of: SourceSnapshot, tables: Sequence[Table], place: ArchivePlace, runner: Runner) -> Archived:
        """Write a snapshot's rows of these tables into a trail; a table that can't be read does not stop the others."""

    @abstractmethod
    def archived(self, trail_url: str, channel: str, loaded: LoadedTable) -> Sequence[RowSource]:
        """Return the chunks of a table that `archive` has written; the source itself is not asked."""


class GivesRowsAtPosition(Ability, ABC):
    """A source gives rows at a position where a snapshot has exactly the transactions in front of it."""

    lack = Lack(
        "has no snapshots at a position of its log",
        "fill the target's tables by other means, and give their positions by set_table_instantiation_scn",
        "ADP-168",
    )

    @abstractmethod
    def snapshot_at_position(
        self, table_ids: Sequence[int], log_identity: str
    ) -> AbstractContextManager[tuple[Position, SourceSnapshot]]:
        """Open a snapshot, as `snapshot` does, of exactly the transactions that commit in front of a position.

        Waits for open transactions; raises SourceError SRC-110 where they stay open.
        """


class SendsMessages(Ability, ABC):
    """A source sends messages where they can be written into its log."""

    lack = Lack("takes no messages into its log", "leave messages to a queue of PostgreSQL")

    @abstractmethod
    def send(self, payloads: Sequence[str], within: Any = None) -> None:
        """Write messages for queues into the log, in one transaction.

        within: an open connection of the caller, in whose transaction they are written; None: one of their own.
        """
