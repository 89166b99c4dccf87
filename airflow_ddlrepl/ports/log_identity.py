"""This module defines the port of log identity: whether the log that a source writes now continues what was captured.

Which log it is, an engine says in a text of its own, which is stored and compared by that engine alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_ddlrepl.model.position import Position


@dataclass(frozen=True, slots=True)
class Continuity:
    """A continuity says how the log of now follows the one that was captured up to a position."""

    identity: str
    """The log of now: the text to store."""
    is_whole: bool
    """All that was captured is in it."""
    went_over: bool
    """A fail-over or a recovery lies between."""
    words: str
    """Both logs in words, as the end of a sentence: `it was on …, and the source's log went over to …`."""


class LogIdentity:
    """A log identity is the port that tells the logs of one kind of source apart.

    As it is here, each run of a server, as `Source.server_run` says it, writes a log of its own.
    """

    def of_run(self, server_run: str) -> str:
        """Return which log this run of the server writes, as far as the server can say."""
        return server_run

    def continuity(self, before: str, now: str, at: Position) -> Continuity:
        """Return how the log of now follows the log of before, of which was captured up to a position."""
        went_over = before != now
        words = f"it was {before}, and the source's log is {now} now"
        return Continuity(now, not went_over, went_over, words)
