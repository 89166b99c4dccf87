"""This module joins the parts of the repository into the one class that the rest of the product uses."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from airflow_ddlrepl.repository.channels import Channels
from airflow_ddlrepl.repository.database import Database, is_there
from airflow_ddlrepl.repository.dequeued import Dequeued
from airflow_ddlrepl.repository.health import Health
from airflow_ddlrepl.repository.marks import Marks
from airflow_ddlrepl.repository.pending import Pending
from airflow_ddlrepl.repository.revisions import Revisions
from airflow_ddlrepl.repository.runs import Runs
from airflow_ddlrepl.repository.segments import FeedSegments, Segments
from airflow_ddlrepl.repository.upgrade import upgrade
from airflow_ddlrepl.repository.work import Work


class Repository(Channels, Revisions, Segments, FeedSegments, Marks, Work, Runs, Dequeued, Health, Pending):
    """The repository remembers channels, revisions, segments, steps, refreshes, runs and errors between runs.

    Reads need nothing. Writes take the token of the channel's lock and raise Fenced LCK-102, with nothing
    written, when another run has taken the channel over. Every method is one transaction.
    """

    @classmethod
    def open(cls, location: str) -> Repository:
        """Connect to the repository and bring its tables up to date.

        Raises Unreachable CON-120, RepositoryError REP-101, ConfigError.
        """
        database = Database(location)
        try:
            upgrade(database)
        except BaseException:
            database.close()
            raise
        return cls(database)

    @classmethod
    def as_it_is(cls, location: str) -> Repository:
        """Connect to the repository and leave its tables as they are, to look at what another version may have written.

        Raises ConfigError; reading raises Unreachable CON-120, or RepositoryError REP-100 where a table is missing.
        """
        return cls(Database(location))

    @staticmethod
    def is_there(location: str) -> bool:
        """Return whether a repository exists at the location, without making one.

        A database server is not asked: for it the answer is True. Raises ConfigError.
        """
        return is_there(location)

    def close(self) -> None:
        """Close every connection."""
        self._database.close()

    def __repr__(self) -> str:
        return f"Repository({self._database.shown!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
