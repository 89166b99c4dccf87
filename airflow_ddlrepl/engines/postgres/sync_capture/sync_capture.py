"""This module is a PostgreSQL source's synchronous capture: the port `engines.abilities.sync_capture`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.capture.captured_table import CapturedTable
from airflow_ddlrepl.engines.abilities.sync_capture import (
    CapturedRows,
    CapturedWindow,
    CaptureRules,
    FeedPlace,
    Prepared,
)
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.sync_capture import setup
from airflow_ddlrepl.engines.postgres.sync_capture.captured_tables import captured_tables
from airflow_ddlrepl.engines.postgres.sync_capture.ruled_tables import ruled_tables
from airflow_ddlrepl.engines.postgres.sync_capture.setup import Setup
from airflow_ddlrepl.engines.postgres.sync_capture.window import Windows
from airflow_ddlrepl.engines.postgres.sync_capture.write_window import write_rows
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.trail.manifest import Part
from airflow_ddlrepl.trail.store import Trail
from airflow_ddlrepl.trail.writer import PartWriter, undone_on_failure


@dataclass(frozen=True, slots=True)
class PostgresSyncCapture:
    """This is one client's synchronous capture of a channel. connection: to the source, in autocommit mode."""

    connection: Connection[Any]
    of: Setup

    def prepare(self, last: int) -> Prepared:
        """Bring the triggers up to the rules, as `setup.prepare` does. last: the newest window in the feed."""
        found = setup.prepare(self.connection, self.of)
        self._windows.register(last)
        return found

    def tables(self, known: Collection[CapturedTable]) -> Mapping[TableName, CapturedTable]:
        """Return the tables of the rules that are there, with what captures their rows now."""
        ruled = [one.name for one in ruled_tables(self.of.rules.client)]
        return captured_tables(self.connection, self.of.names, ruled, known)

    def open_window(self) -> CapturedWindow | None:
        """Return the window that is open, or open one; None when nothing is captured."""
        return self._windows.open()

    def unread_rows(self) -> CapturedRows:
        """Return how many captured rows no run has read yet; none where the capture is not prepared."""
        return self._windows.unread_rows() if setup.clients(self.connection, self.of.channel) else CapturedRows()

    def write(self, window: CapturedWindow, place: FeedPlace) -> Part:
        """Write the rows of the open window into files of a feed."""
        writer = PartWriter(Trail(place.trail_url, place.trail), place.epoch, window.low, 0, place.token)
        with undone_on_failure(writer):
            return write_rows(self._windows, window, writer)

    def close_window(self, window: CapturedWindow) -> None:
        """Delete the rows of a window, which must be in a published segment, and shapes that no other row needs."""
        self._windows.close(window.number)
        self._windows.forget_shapes()

    @property
    def _windows(self) -> Windows:
        return Windows(self.connection, self.of.channel, self.of.rules.client.name)


@dataclass(frozen=True, slots=True)
class PostgresSyncCaptures:
    """These are the synchronous captures of a channel. connection: to the source, in autocommit mode."""

    connection: Connection[Any]
    channel: str

    def of(self, rules: CaptureRules) -> PostgresSyncCapture:
        """Return the synchronous capture of a client."""
        return PostgresSyncCapture(self.connection, Setup(self.channel, rules))

    def clients(self) -> list[str]:
        """Return the names of the clients that are prepared."""
        return setup.clients(self.connection, self.channel)

    def remove(self, client: str) -> list[str]:
        """Remove a client's triggers and what they have captured, as `setup.remove` does."""
        return setup.remove(self.connection, self.channel, client)
