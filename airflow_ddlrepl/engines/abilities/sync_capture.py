"""This module is the port of a synchronous capture: triggers at the source write row LCRs, and a run reads them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from airflow_ddlrepl.capture.captured_table import CapturedTable
from airflow_ddlrepl.engines.ability import Ability, Lack
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.trail.manifest import Part

if TYPE_CHECKING:
    from airflow_ddlrepl.streams.rules.client import Client

NUMBER_BITS = 32
"""A position of the feed is the number of its window, then in so many bits that of the transaction in it, from 1 on."""


@dataclass(frozen=True, slots=True)
class CaptureRules:
    """The rules of a synchronous capture are its client's.

    database: the source's name, as conditions have it. functions: where each listed function is, by its name.
    """

    client: Client
    database: str
    functions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prepared:
    """This value says what the preparation of a synchronous capture found and did.

    tables: that its rules are about. changes: what was done, for people; empty when nothing was to do. missing: tables
    of the rules that are not there: their rows are not captured before the next preparation. warnings: for people.
    remade: tables that were given the trigger of their row changes. failed: one error for each table whose triggers
    could not be brought up to the rules.
    """

    tables: tuple[str, ...]
    changes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    remade: tuple[TableName, ...] = ()
    failed: tuple[SourceError, ...] = ()


@dataclass(frozen=True, slots=True)
class FeedPlace:
    """A feed place is where the segments of a synchronous capture go. token: of the run that writes."""

    trail_url: str = field(repr=False)
    trail: str
    epoch: int
    token: int


@dataclass(frozen=True, slots=True)
class CapturedWindow:
    """A captured window is the changes of transactions that have ended, for one segment of the feed.

    number: counts windows, from 1 on. transactions: how many have changes in it. changes: of rows. first_transaction,
    last_transaction: the least and the greatest id of its transactions. is_new: no earlier call has opened it.
    truncated: tables whose TRUNCATE was not captured.
    """

    number: int
    transactions: int
    changes: int
    first_transaction: int
    last_transaction: int
    is_new: bool = True
    truncated: tuple[str, ...] = ()

    @property
    def low(self) -> Position:
        """Return the position of the feed where the window begins."""
        return Position(self.number << NUMBER_BITS)

    @property
    def high(self) -> Position:
        """Return the position of the feed where the window ends, and the next one begins."""
        return Position((self.number + 1) << NUMBER_BITS)


@dataclass(frozen=True, slots=True)
class CapturedRows:
    """Captured rows wait at the source. is_more: there are more than were counted. seconds: the oldest one's age."""

    rows: int = 0
    is_more: bool = False
    seconds: float | None = None


class SyncCapture(Protocol):
    """A synchronous capture is one client's triggers at a source, and what they have captured."""

    def prepare(self, last: int) -> Prepared:
        """Bring the triggers up to the client's rules. A second time it changes nothing.

        last: the number of the newest window in the client's feed; 0: there is none.
        """
        ...

    def tables(self, known: Collection[CapturedTable]) -> Mapping[TableName, CapturedTable]:
        """Return the tables of the rules that are there, with what captures their rows now. Changes nothing.

        known: what an earlier look has found.
        """
        ...

    def open_window(self) -> CapturedWindow | None:
        """Return the window whose rows are still there, or a new one; None when nothing is captured.

        The same window comes again until `close_window`, with the same rows.
        """
        ...

    def unread_rows(self) -> CapturedRows:
        """Return how many captured rows no run has read yet, and how old the oldest one is. Changes nothing."""
        ...

    def write(self, window: CapturedWindow, place: FeedPlace) -> Part:
        """Write a window's rows into files of a feed; they count once a manifest names them."""
        ...

    def close_window(self, window: CapturedWindow) -> None:
        """Delete a window's rows, which must be in a published segment."""
        ...


class SyncCaptures(Protocol):
    """These are the synchronous captures that a channel has at its source."""

    def of(self, rules: CaptureRules) -> SyncCapture:
        """Return the synchronous capture of a client, prepared or not."""
        ...

    def clients(self) -> list[str]:
        """Return the names of the clients that are prepared, whatever the channel file has by now."""
        ...

    def remove(self, client: str) -> list[str]:
        """Remove a client's triggers and what they have captured; return what was removed, in words."""
        ...


class CapturesBySync(Ability, ABC):
    """A source captures synchronously where triggers can write row LCRs in the transactions that change rows."""

    lack = Lack("has no synchronous captures", "let a capture process read the log (ADD_TABLE_RULES with CAPTURE)")

    @property
    @abstractmethod
    def sync_captures(self) -> SyncCaptures:
        """Return the synchronous captures of the channel."""
